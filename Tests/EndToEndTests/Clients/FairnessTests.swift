import Foundation
import TestSupport
import Testing

/// Clients share a model's slots: a client is identified by its token if tokens are required, otherwise by its address.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct FairnessTests {
    /// A sender: from 127.0.0.HOST, optionally with a token.
    struct Client: Sendable {
        var host: UInt8 = 1
        var token: String?

        func connect(_ daemon: Daemon) throws -> RawClient { try RawClient(daemon.url, from: host) }

        func request(_ picture: Data, to route: Route = .classify) -> Data {
            let field = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
            let body = route.body(picture)
            // Each request needs its own turn, so no answer is shared.
            let head =
                "POST \(route.path) HTTP/1.1\r\nHost: x\r\nCache-Control: no-store\r\n"
                + "\(field)Content-Length: \(body.count)\r\n\r\n"
            return Data(head.utf8) + body
        }
    }

    /// A route that takes pictures.
    enum Route: String, CaseIterable, Sendable {
        case classify, predict, infer, detect

        /// The requested model.
        var model: String { self == .detect ? "ssd_regular" : "digits" }

        var path: String {
            switch self {
            case .classify: "/v1/classify"
            case .infer: "/v2/models/\(model)/infer"
            case .predict, .detect: "/v1/models/\(model)/\(rawValue)"
            }
        }

        func body(_ picture: Data) -> Data {
            guard self == .infer else { return picture }
            let input =
                "{\"name\": \"image\", \"shape\": [1], \"datatype\": \"BYTES\", "
                + "\"data\": [\"\(picture.base64EncodedString())\"]}"
            return Data("{\"inputs\": [\(input)]}".utf8)
        }
    }

    /// Two senders, and whether they count as one client.
    struct Pair: Sendable, CustomTestStringConvertible {
        let heavy: Client, light: Client
        let areOne: Bool
        let testDescription: String
    }

    private static let tokens = ["token-of-one-client", "token-of-another"]
    static let pairs = [
        Pair(heavy: Client(host: 2), light: Client(host: 1), areOne: false, testDescription: "two addresses"),
        Pair(heavy: Client(host: 1), light: Client(host: 1), areOne: true, testDescription: "one address"),
        Pair(
            heavy: Client(token: tokens[0]), light: Client(token: tokens[1]), areOne: false,
            testDescription: "one address, two tokens"),
        Pair(
            heavy: Client(host: 2, token: tokens[0]), light: Client(host: 1, token: tokens[0]), areOne: true,
            testDescription: "two addresses, one token"),
    ]

    /// Sixty million pixels.
    private static let huge = CancellationPicture.png(width: 60_000, height: 1_000)
    private static let small = CancellationPicture.png(width: 28, height: 28)

    /// A daemon with one slot, which requires tokens if the clients have some. Its queue keeps the order of arrival,
    /// however late it is.
    private static func daemon(for pair: Pair, _ arguments: [String] = []) throws -> Daemon {
        var arguments =
            ["--max-in-flight", "1", "--overload-target", "0s", "--queue-wait", "600s", "--deadline", "300s"]
            + arguments
        if pair.heavy.token != nil {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("tokens-\(UUID().uuidString)")
            try tokens.map { "all \($0)\n" }.joined().write(to: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            arguments += ["--tokens-file", file.path]
        }
        return try Daemon(arguments)
    }

    /// The numbers of requests that hold a slot, wait for one, and are done, from `/v1/models/MODEL`.
    private static func load(
        of daemon: Daemon, _ route: Route
    ) throws -> (now: Int, waiting: Int, done: Int) {
        let answer = try Curl.run(
            daemon.url + "/v1/models/" + route.model, ["-H", "Authorization: Bearer \(tokens[0])"])
        let flight = try #require(answer.json["in_flight"] as? [String: Any], "\(answer.text)")
        let predictions = try #require(answer.json["predictions"] as? [String: Any], "\(answer.text)")
        return (
            now: try #require(flight["now"] as? Int), waiting: try #require(flight["waiting"] as? Int),
            done: try #require(predictions["succeeded"] as? Int) + (try #require(predictions["failed"] as? Int))
        )
    }

    /// Sends a request on each of some connections, and waits until all of them are in the queue or answered.
    private static func fill(
        _ daemon: Daemon, _ client: Client, connections: Int, route: Route
    ) throws -> [RawClient] {
        let clients = try (0..<connections).map { _ in try client.connect(daemon) }
        for connection in clients { try connection.send(client.request(huge, to: route)) }
        #expect(
            try eventually(every: 0.01) {
                let load = try load(of: daemon, route)
                return load.now + load.waiting + load.done >= connections
            })
        return clients
    }

    @Test(
        "a light client's requests pass a heavy client's queue; requests of a single client keep their order",
        arguments: LongTests.every(2, of: pairs), LongTests.every(4, of: Route.allCases))
    func lightClientPassesTheQueueOfAHeavyOne(_ pair: Pair, _ route: Route) throws {
        let models = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/observations").path
        let daemon = try Self.daemon(for: pair, route == .detect ? ["--models", models] : [])
        let heavy = try Self.fill(daemon, pair.heavy, connections: 12, route: route)
        // Its requests arrive together, and are equally large if they must be served in the order of arrival.
        let light = try (0..<3).map { _ in try pair.light.connect(daemon) }
        for connection in light {
            try connection.send(pair.light.request(pair.areOne ? Self.huge : Self.small, to: route))
        }
        for connection in light { #expect(try connection.response().status == 200) }
        let waiting = try Self.load(of: daemon, route).waiting
        if pair.areOne {
            #expect(waiting == 0, "the same client's later requests were answered before its earlier ones")
        } else {
            #expect(waiting > 0, "all of the heavy client's requests were answered first")
        }
        for connection in heavy { connection.close() }
        daemon.signal(SIGTERM)
    }

    @Test(
        "a client with more than `client_in_flight` requests gets 429 for the rest; two clients do not",
        arguments: LongTests.every(2, of: pairs))
    func clientWithTooManyInFlightIsRefused(_ pair: Pair) throws {
        let maximum = 8
        let daemon = try Self.daemon(for: pair, ["--client-in-flight", "\(maximum)"])
        let clients = Array(repeating: pair.heavy, count: maximum) + Array(repeating: pair.light, count: maximum)
        let connections = try clients.map { try $0.connect(daemon) }
        for (client, connection) in zip(clients, connections) { connection.offer(client.request(Self.huge)) }
        let answers = try connections.map { try $0.response() }
        let refused = answers.filter { $0.status == 429 }
        #expect(answers.count { $0.status == 200 } == clients.count - refused.count)
        #expect(refused.count <= clients.count - maximum)
        #expect(refused.isEmpty == !pair.areOne, "\(refused.count) of \(clients.count) were refused")
        for answer in refused {
            #expect(answer.text.contains("\"too_many_requests\""), "\(answer.text)")
            #expect(answer.text.contains("client_in_flight"), "\(answer.text)")
            #expect(answer.fields["retry-after"].flatMap { Int($0) } ?? 0 > 0, "\(answer.fields)")
        }
        // Its places are free again after its answers.
        let again = try pair.heavy.connect(daemon)
        try again.send(pair.heavy.request(Self.small))
        #expect(try again.response().status == 200)
        daemon.signal(SIGTERM)
    }

    @Test("a client above `client_rate` gets 429; another client does not", arguments: pairs)
    func clientAboveItsRateIsRefused(_ pair: Pair) throws {
        let daemon = try Self.daemon(for: pair, ["--client-rate", "1"])
        let heavy = try pair.heavy.connect(daemon)
        let request = pair.heavy.request(Self.small)
        for _ in 0..<50 { heavy.offer(request) }
        let answers = try (0..<50).map { _ in try heavy.response() }
        let refused = answers.filter { $0.status == 429 }
        #expect(answers.first?.status == 200)
        #expect(answers.allSatisfy { $0.status == 200 || $0.status == 429 })
        let last = try #require(refused.last)
        #expect(last.text.contains("\"too_many_requests\""), "\(last.text)")
        #expect(last.text.contains("client_rate"), "\(last.text)")
        #expect(last.fields["retry-after"].flatMap { Int($0) } ?? 0 > 0, "\(last.fields)")
        guard !pair.areOne else { return }
        let light = try pair.light.connect(daemon)
        try light.send(pair.light.request(Self.small))
        #expect(try light.response().status == 200)
        daemon.signal(SIGTERM)
    }
}
