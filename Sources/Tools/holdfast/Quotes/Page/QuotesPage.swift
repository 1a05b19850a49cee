import Holdfast
import HoldfastServer

/// The web page that shows a market live, at `/quotes`: its document and what the document loads.
enum QuotesPage {
    /// The answer to a request for the page or a part of it, or nothing if the request is for something else.
    static func response(for request: RequestHead) -> HTTPResponse? {
        guard let part = parts[request.path] else { return nil }
        guard ["GET", "HEAD"].contains(request.method) else { return HTTPResponse(status: 405, headers: ["Allow": "GET, HEAD"]) }
        return HTTPResponse(status: 200, headers: part.headers, body: part.body)
    }

    private struct Part {
        let type: String
        let body: [UInt8]

        /// Nothing is loaded from elsewhere or written into the page, and another build is seen at once.
        var headers: HeaderFields {
            [
                "Content-Type": type, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
                "Content-Security-Policy": """
                default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                base-uri 'none'; form-action 'none'; frame-ancestors 'none'
                """,
            ]
        }
    }

    private static let parts: [String: Part] = {
        let script = "text/javascript; charset=utf-8"
        return [
            "/quotes": Part(type: "text/html; charset=utf-8", body: PackageResources.quotes_html),
            "/quotes/page.css": Part(type: "text/css; charset=utf-8", body: PackageResources.page_css),
            "/quotes/page.mjs": Part(type: script, body: PackageResources.page_mjs),
            "/quotes/table.mjs": Part(type: script, body: PackageResources.table_mjs),
            "/quotes/market.mjs": Part(type: script, body: PackageResources.market_mjs),
            "/quotes/worker.mjs": Part(type: script, body: PackageResources.worker_mjs),
            "/quotes/feed.mjs": Part(type: script, body: PackageResources.feed_mjs),
            "/quotes/backoff.mjs": Part(type: script, body: PackageResources.backoff_mjs),
            "/quotes/book.mjs": Part(type: script, body: PackageResources.book_mjs),
            "/quotes/messagepack.mjs": Part(type: script, body: PackageResources.messagepack_mjs),
        ]
    }()
}
