// The sign-in form: name, room, and a token if the hub requires one. It opens again when a new token is needed.

const byID = (id) => document.getElementById(id);

export class Door {
    #enter;
    #back = () => {};

    /** `enter` gets {name, room, token}; the form shows the errors that it throws. */
    constructor(enter) {
        this.#enter = enter;
        byID("join").addEventListener("submit", (event) => {
            event.preventDefault();
            this.#knock();
        });
        byID("door-back").addEventListener("click", () => this.#back());
    }

    /** Fills the form from the address or from the last input; a complete address signs in at once. */
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

    /** Asks for a new token; name and room stay fixed. `back` leaves the form without one. */
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
        // The address must not keep a token; a reload returns to this form and asks for it again.
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
