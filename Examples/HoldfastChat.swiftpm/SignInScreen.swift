import SwiftUI

/// Asks for a name, and for the machine that the hub runs on.
struct SignInScreen: View {
    @Bindable var services: Services
    @State private var name = ""

    var body: some View {
        Form {
            Section("Who are you?") {
                TextField("Name", text: $name)
                TextField("Host", text: $services.host)
            }
            Section {
                Button("Join") { Task { await services.signIn(name) } }.disabled(name.isEmpty)
                if let problem = services.problem { Text(verbatim: problem).foregroundStyle(.red) }
            }
        }
    }
}
