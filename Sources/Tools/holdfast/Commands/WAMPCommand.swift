import ArgumentParser

struct WAMPCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wamp",
        abstract: "Call and offer procedures, publish and hear events, over WAMP.",
        discussion: """
            WAMP joins a realm of a router, such as 'holdfast serve wamp' or Crossbar. Arguments are JSON; what is none is a text.

            EXAMPLE:
              holdfast serve wamp
              holdfast wamp register ws://localhost:9001/ realm1 com.example.echo --echo
              holdfast wamp call ws://localhost:9001/ realm1 com.example.echo 'hello'
            """,
        subcommands: [WAMPCallCommand.self, WAMPPublishCommand.self, WAMPSubscribeCommand.self, WAMPRegisterCommand.self])
}
