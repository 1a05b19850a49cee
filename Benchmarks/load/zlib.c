// The processor time of zlib alone for the messages of the compressed workload: inflate the input, deflate the output.
//
//   zlib CONTEXTS DEPTH SIZE SECONDS
//
// It works like a server with CONTEXTS connections, each with its own inflater and deflater (level 6, context takeover):
// DEPTH messages of one connection, then of the next. Every message of the first turns is compared before the clock runs.
//
// Prints one line of JSON: messages, seconds, processor time, and the mean size of a compressed message.
#include "compressed.h"

struct context {
    z_stream inflater, deflater;
    size_t turn; // index of the conversation's next message
};

static struct packed conversation[2 * CYCLE];
static size_t size, capacity;
static uint8_t *message, *compressed, *expected;

// The work of a server for one message.
static void echo(struct context *context) {
    struct packed *packed = &conversation[context->turn];
    size_t length = inflate_message(&context->inflater, message, size + 1, packed->bytes, packed->length);
    if (length != size) reject("%zu bytes inflated, not %zu", length, size);
    deflate_message(&context->deflater, compressed, capacity, message, length);
    context->turn = context->turn + 1 == 2 * CYCLE ? CYCLE : context->turn + 1;
}

static uint64_t run_until(double end, struct context *contexts, int count, int depth) {
    uint64_t messages = 0;
    while (now() < end) {
        for (int i = 0; i < count; i++) {
            for (int turn = 0; turn < depth; turn++) echo(&contexts[i]);
        }
        messages += count * depth;
    }
    return messages;
}

// Goes through the whole conversation and a part of its repetition.
static void verify(void) {
    struct context context = {0};
    start_inflating(&context.inflater);
    start_deflating(&context.deflater);
    for (int i = 0; i < 3 * CYCLE + CYCLE / 2; i++) {
        echo(&context);
        put_json(expected, size, i % CYCLE);
        if (memcmp(message, expected, size) != 0) reject("message %d differs", i);
    }
    inflateEnd(&context.inflater);
    deflateEnd(&context.deflater);
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: zlib CONTEXTS DEPTH SIZE SECONDS\n");
        return 2;
    }
    int count = atoi(argv[1]), depth = atoi(argv[2]);
    size = atoi(argv[3]);
    double seconds = atof(argv[4]);
    capacity = 2 * size + 64;
    message = allocate(size + 1);
    expected = allocate(size);
    compressed = allocate(capacity);
    compress_conversation(conversation, size);
    verify();

    struct context *contexts = allocate(count * sizeof *contexts);
    for (int i = 0; i < count; i++) {
        start_inflating(&contexts[i].inflater);
        start_deflating(&contexts[i].deflater);
    }
    run_until(now() + seconds / 4, contexts, count, depth);
    double started = now(), cpu = own_cpu_seconds();
    uint64_t messages = run_until(started + seconds, contexts, count, depth);
    cpu = own_cpu_seconds() - cpu;
    double mean = 0;
    for (int i = CYCLE; i < 2 * CYCLE; i++) mean += conversation[i].length / (double)CYCLE;
    printf("{\"messages\": %llu, \"seconds\": %.6f, \"cpu\": %.6f, \"compressed\": %.1f}\n", (unsigned long long)messages, now() - started,
        cpu, mean);
}
