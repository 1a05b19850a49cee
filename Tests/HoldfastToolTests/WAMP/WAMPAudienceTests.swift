import ArgumentParser
import Testing
import WAMPCore

@testable import HoldfastTool

@Suite struct WAMPAudienceTests {
    @Test func `a list that nothing was given for is not sent`() throws {
        let options = try WAMPAudienceOptions.parse([])
        #expect(!options.toMe && options.excluded == PublishOptions.Audience() && options.allowed == PublishOptions.Audience())
    }

    @Test func `who gets an event and who does not is told by session, user and role`() throws {
        let options = try WAMPAudienceOptions.parse([
            "--exclude", "1", "--exclude", "2", "--exclude-user", "ann", "--exclude-role", "guest", "--eligible", "3", "--eligible-user",
            "bob",
            "--eligible-role", "staff", "--to-me",
        ])
        #expect(options.excluded == PublishOptions.Audience(sessions: [1, 2], authIDs: ["ann"], authRoles: ["guest"]))
        #expect(options.allowed == PublishOptions.Audience(sessions: [3], authIDs: ["bob"], authRoles: ["staff"]))
        #expect(options.toMe)
        #expect(throws: (any Error).self) { try WAMPAudienceOptions.parse(["--exclude", "ann"]) }
    }
}
