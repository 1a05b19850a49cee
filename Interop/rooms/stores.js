// Applies the same random changes to IndexedDB and the plain store. Returns null if both are equal at the end. Evaluated in a page.
async (seed) => {
    const { IndexedBackend, MemoryBackend, Store } = await import("/page/store.mjs");
    let state = seed * 7919;
    const random = (below) => (state = (state * 48271) % 2147483647) % below;
    const name = `test of stores ${seed}`;
    const backends = [await IndexedBackend.open(name), new MemoryBackend()];
    const stores = backends.map((backend) => new Store(backend));
    const rooms = ["a", "b"];
    const entry = (seq) => ({ seq, id: `${seq}`, device: "d", cseq: seq, user: "u", at: seq, type: "chat.text", body: { text: `${seq}` } });
    const both = async (work) => {
        const answers = await Promise.all(stores.map((store) => work(store).catch((error) => `refused: ${error.constructor.name}`)));
        const [ours, theirs] = answers.map((answer) => JSON.stringify(answer));
        if (ours !== theirs) throw new Error(`${work}: ${ours} is not ${theirs}`);
        return answers[0];
    };
    const everything = async (store) => {
        const { device, ...rest } = await store.load();
        const kept = await Promise.all(rooms.map((room) => store.entries(room, 1e9, 10_000)));
        return { ...rest, kept, hasDevice: /^[0-9a-f]{32}$/.test(device) };
    };
    try {
        for (let step = 0; step < 300; step++) {
            const room = rooms[random(2)];
            const { rooms: records, outbox, failed } = await stores[1].load();
            const record = records.find((record) => record.room === room) ?? { epoch: "", seq: 0, first: 1 };
            const rows = outbox.filter((row) => row.room === room);
            const [dice, count, id, epoch, read] = [random(11), 1 + random(4), `${step}`, "ef"[random(2)], random(90)];
            const items = (from) => Array.from({ length: count }, (_, index) => entry(from + index));
            switch (dice) {
                case 0: case 1: await both((store) => store.enqueue(room, { id, at: step, type: "chat.text", body: { text: id } })); break;
                case 2: case 3: {
                    const proved = rows.slice(0, random(2)).map(({ cseq }) => cseq);
                    // Sometimes an entry that does not follow, which changes nothing.
                    await both((store) => store.append(room, record.epoch, items(record.seq + 1 + (step % 9 === 0)), proved));
                    break;
                }
                case 4: await both((store) => store.replace(room, epoch, 50 + step + count, items(51 + step), [])); break;
                case 5: await both((store) => store.prepend(room, record.epoch, items(Math.max(1, record.first - count)))); break;
                case 6: await both((store) => store.settle(room, { removed: rows.slice(0, 1).map(({ cseq }) => cseq) })); break;
                case 7: {
                    const failed = rows.slice(-1).map((row) => ({ ...row, failure: { code: 1, text: "no" } }));
                    await both((store) => store.settle(room, { failed }));
                    break;
                }
                case 8: if (failed.length > 0) await both((store) => store.retry(failed[0].room, failed[0].id, step)); break;
                case 9: await both((store) => store.setRead(room, read)); break;
                case 10:
                    if (step % 3 === 0) await both((store) => store.renew(({ cseq }) => cseq % 2 === 0, { code: 0, text: "?" }));
                    break;
            }
        }
        await both(everything);
        const before = JSON.stringify(await everything(stores[0]));
        stores[0].close();
        stores[0] = new Store(await IndexedBackend.open(name));
        const after = JSON.stringify(await everything(stores[0]));
        return before === after ? null : "it is not the same after it was opened again";
    } catch (error) {
        return error.message;
    } finally {
        stores[0].close();
        indexedDB.deleteDatabase(name);
    }
}
