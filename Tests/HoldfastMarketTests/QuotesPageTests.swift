import Foundation
import HoldfastServer
import Testing
import WebSocketCore

@testable import HoldfastMarket

@Suite struct QuotesPageTests {
    private func answer(_ target: String, method: String = "GET") -> HTTPResponse? {
        QuotesPage.response(for: RequestHead(method: method, target: target, headers: [:]))
    }

    private func text(_ target: String) -> String {
        answer(target).map { String(decoding: $0.body, as: UTF8.self) } ?? ""
    }

    @Test func `the page is a document that loads nothing from elsewhere`() throws {
        let page = try #require(answer("/quotes?encoding=json"))
        #expect(page.status == 200)
        #expect(page.headers["Content-Type"] == "text/html; charset=utf-8")
        let policy = try #require(page.headers["Content-Security-Policy"])
        #expect(policy.hasPrefix("default-src 'none'; script-src 'self';"))
        #expect(!policy.contains("unsafe") && !policy.contains("*"))
        #expect(text("/quotes").hasPrefix("<!doctype html>"))
    }

    @Test func `whatever the document and its scripts name is there`() {
        var missing: [Substring] = []
        var seen: Set<Substring> = []
        var names = text("/quotes").matches(of: /(?:src|href)="quotes\/([^"]+)"/).map(\.output.1)
        while let name = names.popLast() {
            guard seen.insert(name).inserted else { continue }
            guard let part = answer("/quotes/\(name)"), !part.body.isEmpty else {
                missing.append(name)
                continue
            }
            #expect(part.headers["Content-Type"] == (name.hasSuffix(".css") ? "text/css" : "text/javascript") + "; charset=utf-8")
            names += String(decoding: part.body, as: UTF8.self).matches(of: /"(?:\.|quotes)\/([a-z]+\.mjs)"/).map(\.output.1)
        }
        #expect(missing == [])
        #expect(seen.count == 9, "a stylesheet and eight scripts")
    }

    @Test func `other paths are someone else's, and nothing can be changed`() {
        #expect(answer("/") == nil && answer("/quotes/") == nil && answer("/quotes/other.mjs") == nil && answer("/feed") == nil)
        #expect(answer("/quotes", method: "POST")?.status == 405)
        #expect(answer("/quotes", method: "HEAD")?.status == 200)
    }
}
