public import ArgumentParser
public import WAMPCore

/// On the command line the modes have the names that they have in messages: `skip`, `kill`, `killnowait`.
extension CallOptions.CancelMode: ExpressibleByArgument {}

/// On the command line the policies have the names that they have in messages: `single`, `roundrobin`, …
extension RegisterOptions.Sharing: ExpressibleByArgument {}
