import CSystem
import HTTPWire

/// Renders answers into one buffer, which all connections of a loop share. Bytes that the socket does not accept at
/// once are copied, which is rare.
struct ResponseRenderer {
    /// The bytes that are rendered and not sent yet.
    private(set) var bytes: [UInt8] = []
    /// `Server`, `Date` and the name of `X-Request-ID`, rendered once a second. `commonOK` has the status line of 200
    /// before them.
    private var common: [UInt8] = []
    private var commonOK: [UInt8] = []
    private var commonSecond: Int64 = .min
    private let serverName: String

    init(serverName: String) {
        self.serverName = serverName
        bytes.reserveCapacity(Self.kept)
    }

    private static let kept = 128 << 10

    /// Empties the buffer after its bytes were sent.
    mutating func clear() {
        if bytes.capacity > Self.kept * 2 {
            bytes = []
            bytes.reserveCapacity(Self.kept)
        } else {
            bytes.removeAll(keepingCapacity: true)
        }
    }

    /// Appends 100 (Continue) or 102 (Processing).
    mutating func appendInterim(_ status: HTTPStatus) {
        ResponseSerializer.appendInterim(status, to: &bytes)
    }

    /// Appends an answer. `body`: its content is copied after the head, instead of being sent from its own memory.
    mutating func append(_ response: HTTPResponse, requestID: String, plan: AnswerPlan, body: Bool) {
        let status = response.status.code >= 200 ? response.status : .internalServerError
        let second = csys_wall_seconds()
        if second != commonSecond { renderCommon(second) }
        if status == .ok {
            bytes.append(contentsOf: commonOK)
        } else {
            ResponseSerializer.appendStatusLine(status, to: &bytes)
            bytes.append(contentsOf: common)
        }
        bytes.append(contentsOf: requestID.utf8)
        bytes.append(contentsOf: "\r\n".utf8)
        for field in response.fields where !Self.isOwn(field.name) {
            ResponseSerializer.appendField(field.name, field.value, to: &bytes)
        }
        if !status.forbidsBody {
            ResponseSerializer.appendField("Content-Length", number: UInt64(response.body.count), to: &bytes)
        }
        if !plan.keepAlive {
            bytes.append(contentsOf: "Connection: close\r\n".utf8)
        } else if plan.sendsKeepAlive {
            bytes.append(contentsOf: "Connection: keep-alive\r\n".utf8)
        }
        ResponseSerializer.appendEnd(to: &bytes)
        if body { bytes.append(contentsOf: response.body) }
    }

    private mutating func renderCommon(_ second: Int64) {
        commonSecond = second
        common.removeAll(keepingCapacity: true)
        ResponseSerializer.appendField("Server", serverName, to: &common)
        ResponseSerializer.appendDate(unixSeconds: second, to: &common)
        common.append(contentsOf: "X-Request-ID: ".utf8)
        commonOK.removeAll(keepingCapacity: true)
        ResponseSerializer.appendStatusLine(.ok, to: &commonOK)
        commonOK.append(contentsOf: common)
    }

    /// True for a field that only the server sets. Compares lengths first, because most names differ in length.
    private static func isOwn(_ name: String) -> Bool {
        switch name.utf8.count {
        case 4: equal(name, "date")
        case 6: equal(name, "server")
        case 10: equal(name, "connection") || equal(name, "keep-alive")
        case 12: equal(name, "x-request-id")
        case 14: equal(name, "content-length")
        case 17: equal(name, "transfer-encoding")
        default: false
        }
    }

    private static func equal(_ name: String, _ lowercase: StaticString) -> Bool {
        var at = lowercase.utf8Start
        for byte in name.utf8 {
            guard byte | 0x20 == at.pointee | 0x20 else { return false }
            at += 1
        }
        return true
    }
}

/// The way an answer is sent.
package struct AnswerPlan: Sendable, Hashable {
    /// False if the answer has `Connection: close`.
    package let keepAlive: Bool
    /// True if the answer has `Connection: keep-alive`, for an HTTP/1.0 client that asked for it.
    package let sendsKeepAlive: Bool
    /// True for HEAD: the body's length is sent, the body is not.
    package let omitBody: Bool
}
