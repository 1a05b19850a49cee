package import NIOCore

/// The hub's web page: the chat at `/`, the charts at `/status`, and the files of both below `/page/`.
package struct HubPage {
    /// Returns the file at this path; nil if there is none.
    package static func file(for path: String) -> (type: String, bytes: ByteBuffer)? { files[path] }

    /// Headers for each file: pages load nothing from elsewhere, contain no inline scripts, and notice a new build at once.
    package static let headers: [(name: String, value: String)] = [
        ("Cache-Control", "no-cache"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        (
            "Content-Security-Policy",
            """
            default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
            form-action 'none'; frame-ancestors 'none'
            """
        ),
    ]

    /// Each file is in one buffer, which all responses share.
    private static let files: [String: (type: String, bytes: ByteBuffer)] = {
        let (document, style) = ("text/html; charset=utf-8", "text/css; charset=utf-8")
        let script = "text/javascript; charset=utf-8"
        let files: [String: (type: String, bytes: [UInt8])] = [
            "/": (document, PackageResources.chat_html),
            "/status": (document, PackageResources.status_html),
            "/page/page.css": (style, PackageResources.page_css),
            "/page/chat.css": (style, PackageResources.chat_css),
            "/page/status.css": (style, PackageResources.status_css),
            "/page/chat.mjs": (script, PackageResources.chat_mjs),
            "/page/door.mjs": (script, PackageResources.door_mjs),
            "/page/conversation.mjs": (script, PackageResources.conversation_mjs),
            "/page/messages.mjs": (script, PackageResources.messages_mjs),
            "/page/timeline.mjs": (script, PackageResources.timeline_mjs),
            "/page/tabs.mjs": (script, PackageResources.tabs_mjs),
            "/page/rooms.mjs": (script, PackageResources.rooms_mjs),
            "/page/link.mjs": (script, PackageResources.link_mjs),
            "/page/joining.mjs": (script, PackageResources.joining_mjs),
            "/page/entries.mjs": (script, PackageResources.entries_mjs),
            "/page/outbox.mjs": (script, PackageResources.outbox_mjs),
            "/page/renewal.mjs": (script, PackageResources.renewal_mjs),
            "/page/history.mjs": (script, PackageResources.history_mjs),
            "/page/people.mjs": (script, PackageResources.people_mjs),
            "/page/turns.mjs": (script, PackageResources.turns_mjs),
            "/page/room.mjs": (script, PackageResources.room_mjs),
            "/page/store.mjs": (script, PackageResources.store_mjs),
            "/page/presence.mjs": (script, PackageResources.presence_mjs),
            "/page/policy.mjs": (script, PackageResources.policy_mjs),
            "/page/protocol.mjs": (script, PackageResources.protocol_mjs),
            "/page/identity.mjs": (script, PackageResources.identity_mjs),
            "/page/backoff.mjs": (script, PackageResources.backoff_mjs),
            "/page/status.mjs": (script, PackageResources.status_mjs),
            "/page/chart.mjs": (script, PackageResources.chart_mjs),
        ]
        return files.mapValues { ($0.type, ByteBuffer(bytes: $0.bytes)) }
    }()
}
