import ArgumentParser
import HoldfastWAMP
import WAMPCore

/// Which subscribers get an event: with several of these, those who pass all of them.
struct WAMPAudienceOptions: ParsableArguments {
    @Flag(help: "Let the event come to this session, too (exclude_me: false): to see what the router makes of that.")
    var toMe = false

    @Option(help: ArgumentHelp("Not to this session; may be repeated, as all of these.", valueName: "session"))
    var exclude: [WAMPID] = []

    @Option(help: ArgumentHelp("Not to the sessions of this user.", valueName: "name"))
    var excludeUser: [String] = []

    @Option(help: ArgumentHelp("Not to sessions of this role.", valueName: "role"))
    var excludeRole: [String] = []

    @Option(help: ArgumentHelp("To this session only.", valueName: "session"))
    var eligible: [WAMPID] = []

    @Option(help: ArgumentHelp("To the sessions of this user only.", valueName: "name"))
    var eligibleUser: [String] = []

    @Option(help: ArgumentHelp("To sessions of this role only.", valueName: "role"))
    var eligibleRole: [String] = []

    /// Who does not get it.
    var excluded: PublishOptions.Audience { Self.audience(exclude, excludeUser, excludeRole) }

    /// Who alone gets it.
    var allowed: PublishOptions.Audience { Self.audience(eligible, eligibleUser, eligibleRole) }

    /// A list that nothing was given for is not sent: an empty one would say that nobody gets the event.
    private static func audience(_ sessions: [WAMPID], _ users: [String], _ roles: [String]) -> PublishOptions.Audience {
        PublishOptions.Audience(
            sessions: sessions.isEmpty ? nil : sessions, authIDs: users.isEmpty ? nil : users, authRoles: roles.isEmpty ? nil : roles)
    }
}
