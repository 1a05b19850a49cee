import CodecCore
import Foundation
import HTTPTypes
import Holdfast
import Hummingbird
import HummingbirdCore
import Logging
import MachineCore
import NIOCore
import RoomCore
import WebSocketNIO
import WebSocketRuntime

extension HubPages {
    /// Publishes a message for a program, without joining the room.
    ///
    /// The body is a publication as in the protocol, without what the hub adds: `type`, `body` or `bin`, and optionally `about`, `at` and
    /// `user`. Its ID is the request's `Idempotency-Key`, a UUID, or a random one. A request that is repeated with the same key within a
    /// day is stored once. The keys are separate for each API key and for each user.
    func publish(_ request: Request, in room: RoomName) async throws -> Response {
        var request = request
        let body: ByteBuffer
        do {
            body = try await request.collectBody(upTo: Self.mostBytes)
        } catch let error as any HTTPResponseError {
            throw error
        } catch PlainExchange.Failure.tooSlow {
            return .refused(.requestTimeout, "the request did not arrive within \(configuration.http.request)")
        } catch {
            return .refused(.badRequest, "the body violates the rules of HTTP, or is incomplete")
        }
        let key = HTTPField.Name("Idempotency-Key").flatMap { request.headers[$0] }
        var chance = SystemRandomNumberGenerator()
        guard let id = key.map({ MessageID($0) }) ?? MessageID(at: WallClock.milliseconds, using: &chance) else {
            return .refused(.badRequest, "the Idempotency-Key is not a UUID")
        }
        guard let draft = PublicationDraft(Array(body.readableBytesView), in: room, id: id, now: WallClock.milliseconds) else {
            return .refused(.badRequest, "the body is not a publication: {\"type\": …, \"body\": …}")
        }
        if let hidden = draft.user.hidden {
            return .refused(.badRequest, "the user's name contains an invisible character (\(hidden))")
        }
        do {
            let stored = try await core.publish(
                to: room, from: draft.user, draft.content, id: id, program: Caller.bearer(request.headers[.authorization]),
                isNamed: key != nil, sent: draft.sent)
            let text = """
                {"room":\(room.text.inJSON),"epoch":"\(Hexadecimal.digits(stored.position.epoch))","seq":\(stored.position.seq),\
                "id":"\(id)","at":\(stored.at),"dup":\(stored.isDuplicate)}
                """
            return .json(stored.isDuplicate ? .ok : .created, Array(text.utf8))
        } catch let refusal as PublishingRefusal {
            return .refused(refusal)
        } catch HubError.stopped {
            return .refused(.serviceUnavailable, "the hub is stopping or overloaded", after: 1000)
        }
    }

    /// Returns the entries of a room below a sequence number, as in the protocol's `page`; without a number, the last ones.
    func history(_ request: Request, of room: RoomName) async throws -> Response {
        let query = request.uri.queryParameters
        let before = query.get("before").map { Int64($0) } ?? .max
        let limit = query.get("limit").map { Int64($0) } ?? 50
        guard let before, let limit, before > 0, (1...configuration.limits.page).contains(limit) else {
            return .refused(.badRequest, "before must be a number above 0, and limit a number from 1 to \(configuration.limits.page)")
        }
        let end = min(before, RoomsLimits.number)
        do throws(RoomLogError) {
            let (head, items) = try await log.history(room, before: end, limit: limit, bytes: 1 << 20)
            return .json(.ok, HubFrame.page(.init(reference: 0, room: room, epoch: head.epoch, items: items, base: head.base)).json())
        } catch { return .unread(error) }
    }

    /// Returns a whole room, one line for each entry; if this fails on the way, the connection closes before the end of the response.
    func export(_ room: RoomName) async -> Response {
        let pages: RoomPages
        do throws(RoomLogError) { pages = try await log.pages(of: room) } catch { return .unread(error) }
        return Response(
            status: .ok, headers: [.contentType: "application/x-ndjson"],
            body: ResponseBody { writer in
                var pages = pages
                while let lines = try await pages.nextLines() { try await writer.write(ByteBuffer(bytes: lines)) }
                try await writer.finish(nil)
            })
    }

    /// Copies the log into the directory for backups.
    func backup() async -> Response {
        guard let directory = configuration.backups else { return .refused(.notFound, "this hub has no directory for backups") }
        var isDirectory: ObjCBool = false
        // It may be a disk that is not mounted. Creating the directory would put the backups in the wrong place.
        guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory), isDirectory.boolValue else {
            let text = "the directory for backups does not exist: \(directory)"
            configuration.logger.error("no backup", metadata: ["reason": "\(text)"])
            return .refused(.conflict, text)
        }
        let path = "\(directory)/rooms-\(WallClock.milliseconds).sqlite"
        do throws(RoomLogError) {
            try await log.backup(to: path)
            return .json(.created, Array("{\"path\":\(path.inJSON)}".utf8))
        } catch {
            configuration.logger.error("no backup", metadata: ["reason": "\(error)"])
            return .refused(error.backupStatus, "\(error)")
        }
    }
}

extension Response {
    static func refused(_ status: HTTPResponse.Status, _ text: String, code: Refusal.Code? = nil, after: Int64? = nil) -> Response {
        var headers = HTTPFields()
        // In whole seconds, rounded up (RFC 9110 §10.2.3).
        if let after { headers[.retryAfter] = "\((after + 999) / 1000)" }
        let number = code.map { "\"code\":\($0.rawValue)," } ?? ""
        return .json(status, Array("{\(number)\"error\":\(text.inJSON)}".utf8), headers: headers)
    }

    fileprivate static func unread(_ error: RoomLogError) -> Response {
        if case .noRoom = error { return .refused(.notFound, "there is no such room") }
        return .refused(.serviceUnavailable, "the log cannot be read now", after: 1000)
    }

    fileprivate static func refused(_ refusal: PublishingRefusal) -> Response {
        var after: Int64?
        if case .after(let milliseconds) = refusal.refusal.retry { after = milliseconds }
        let status: HTTPResponse.Status =
            switch refusal.refusal.code {
            // The log has not yet reported the owner of the device.
            case .device where after != nil: .serviceUnavailable
            case .rights, .device: .forbidden
            case .size: .contentTooLarge
            case .rate, .count: .tooManyRequests
            // This includes a time ahead of the hub's clock: it is accepted later.
            case .storage, .lagging, .stopping, .tooNew: .serviceUnavailable
            case .quota: HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
            default: .badRequest
            }
        return .refused(status, refusal.refusal.text, code: refusal.refusal.code, after: after)
    }
}

extension RoomLogError {
    /// The response status for a backup that fails with this error.
    fileprivate var backupStatus: HTTPResponse.Status {
        switch self {
        case .exists: .conflict
        case .full: HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
        case .closed: .serviceUnavailable
        case .inUse, .corrupt, .newer, .readOnly, .noRoom, .failed: .internalServerError
        }
    }
}

/// A publication of a program, parsed from its JSON.
struct PublicationDraft {
    let user: UserName
    let content: Publication.Content
    let sent: Int64

    private struct Author: Decodable { let user: String? }

    /// Parses the JSON; returns nil if it is not a publication.
    init?(_ json: [UInt8], in room: RoomName, id: MessageID, now: Int64) {
        // The JSON is parsed as a `pub` frame, so that the payload stays as it was written. Added members come last and override earlier
        // ones.
        let space: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        guard let first = json.firstIndex(where: { !space.contains($0) }), json[first] == UInt8(ascii: "{"),
            let last = json.lastIndex(where: { !space.contains($0) }), json[last] == UInt8(ascii: "}"), first < last,
            let author = try? JSONDecoder().decode(Author.self, from: Data(json)),
            let user = UserName(author.user ?? "server")
        else { return nil }
        let inner = json[(first + 1)..<last]
        guard inner.contains(where: { !space.contains($0) }) else { return nil }
        let frame =
            Array("{\"at\":\(now),".utf8) + inner
            + Array(",\"t\":\"pub\",\"room\":\(room.text.inJSON),\"cseq\":1,\"id\":\"\(id)\",\"void\":false}".utf8)
        let decoded = frame.withUnsafeBytes { bytes -> ClientFrame? in (try? ClientFrame.decode(json: bytes)) ?? nil }
        guard case .publish(_, let publication)? = decoded, let content = publication.content else { return nil }
        (self.user, self.content, sent) = (user, content, publication.sent)
    }
}
