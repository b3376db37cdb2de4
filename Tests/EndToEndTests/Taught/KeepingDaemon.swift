import Foundation
import TestSupport
import Testing

/// A daemon that keeps the pictures that the digits model is not sure of: the margins of ``TaughtPicture`` are all
/// below 0.9, and those of the pictures in examples are all above 0.9.
final class KeepingDaemon {
    let server: TaughtDaemon
    /// `keep_dir`
    let store: URL
    var url: String { server.url }
    var daemon: Daemon { server.daemon }

    init(_ flags: [String] = [], margin: Double = 0.9, rate: Int = 1_000, adding: (URL) throws -> Void = { _ in })
        throws
    {
        store = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-kept-\(UUID().uuidString)")
        server = try TaughtDaemon(
            ["--keep-dir", store.path, "--keep-margin", "\(margin)", "--keep-rate", "\(rate)"] + flags, adding: adding)
    }

    deinit { try? FileManager.default.removeItem(at: store) }

    static func picture(_ number: Int) -> Data { TaughtPicture.png(kind: number % 5, number: number / 5) }

    static func sha256(_ data: Data) throws -> String {
        String(try Shell.run("sha256sum", [], input: data).text.prefix(64))
    }

    @discardableResult
    func classify(_ picture: Data, _ arguments: [String] = [], model: String = "digits") throws -> Answer {
        try Curl.run(
            url + "/v1/models/\(model)/classify", ["--data-binary", "@-"] + arguments, input: picture)
    }

    func get(_ path: String, _ arguments: [String] = []) throws -> Answer {
        try Curl.run(url + "/v1/kept" + path, arguments)
    }

    func delete(_ path: String, _ arguments: [String] = []) throws -> Answer {
        try Curl.run(url + "/v1/kept" + path, ["-X", "DELETE"] + arguments)
    }

    func list(_ query: String = "") throws -> [[String: Any]] {
        try get(query).json["kept"] as? [[String: Any]] ?? []
    }

    func ids(_ query: String = "") throws -> [String] { try list(query).compactMap { $0["id"] as? String } }

    func metric(_ sample: String) throws -> Double {
        MetricsTests.value(sample, in: try Curl.run(url + "/metrics").text) ?? 0
    }

    /// The names of the files, without the lock.
    var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: store.path)) ?? []).filter { !$0.hasPrefix(".") }
            .sorted()
    }
}
