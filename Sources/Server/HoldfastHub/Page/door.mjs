// The door: who one is, which room, and a token where the hub wants one. It opens again when another token is needed.

const byID = (id) => document.getElementById(id);

export class Door {
    #enter;
    #back = () => {};

    /** `enter` is given {name, room, token}; what it throws is said at the door. */
    constructor(enter) {
        this.#enter = enter;
        byID("join").addEventListener("submit", (event) => {
            event.preventDefault();
            this.#knock();
        });
        byID("door-back").addEventListener("click", () => this.#back());
    }

    /** With what the address says, or what was typed last time; a complete address is an invitation to go in at once. */
    begin() {
        const wishes = new URLSearchParams(location.hash.slice(1));
        byID("name").value = wishes.get("name") ?? localStorage.getItem("holdfast name") ?? "";
        byID("room").value = wishes.get("room") ?? localStorage.getItem("holdfast room") ?? "lobby";
        byID("token").value = wishes.get("token") ?? "";
        const needsToken = wishes.has("token") && wishes.get("token") === "";
        if (wishes.has("token")) {
            wishes.set("token", "");
            history.replaceState(null, "", `#${wishes}`);
        }
        if (needsToken) byID("sign-in").open = true;
        if (wishes.has("name") && wishes.has("room") && !needsToken) this.#knock();
        else byID(byID("name").value === "" ? "name" : needsToken ? "token" : "room").focus();
    }

    /** Asks for another token; name and room stay what they are. `back` leads away without one. */
    again(back) {
        this.#back = back;
        byID("door-title").textContent = "Sign in again";
        byID("enter").textContent = "Sign in";
        for (const id of ["name", "room"]) byID(id).readOnly = true;
        byID("door-back").hidden = false;
        byID("sign-in").open = true;
        byID("token").required = true;
        byID("door-error").textContent = "";
        byID("token").focus();
    }

    async #knock() {
        const [name, room, token] = ["name", "room", "token"].map((id) => byID(id).value.trim());
        const button = byID("enter");
        if (name === "" || room === "" || button.disabled) return;
        // A token does not stay in the address; a reload leads back here, and asks for it again.
        history.replaceState(null, "", `#${new URLSearchParams({ room, name, ...(token !== "" && { token: "" }) })}`);
        localStorage.setItem("holdfast name", name);
        localStorage.setItem("holdfast room", room);
        byID("door-error").textContent = "";
        button.disabled = true;
        try {
            await this.#enter({ name, room, token });
            byID("token").value = "";
        } catch (error) {
            byID("door-error").textContent = error.message;
        }
        button.disabled = false;
    }
}
