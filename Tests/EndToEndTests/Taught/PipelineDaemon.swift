import Foundation
import ImagePipeline
import TestSupport

/// A daemon with a folder for taught models, a detector that finds the same things in every picture, an embedder of
/// their mean colour, and pipelines of these.
final class PipelineDaemon {
    static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/pipelines")

    let folder: URL
    private let flags: [String]
    private(set) var daemon: Daemon
    var url: String { daemon.url }
    var models: URL { folder.appendingPathComponent("models") }

    /// - Parameters:
    ///   - pipelines: the value of `pipeline` by the name of the bundle.
    ///   - teaches: whether `taught_dir` is set.
    init(_ pipelines: [String: String], _ flags: [String] = [], teaches: Bool = true) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-finds-\(UUID().uuidString)")
        self.folder = folder
        let models = folder.appendingPathComponent("models")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        for name in ["spots", "means"] { try Self.copy(name, to: name, in: models) }
        for (name, pipeline) in pipelines { try Self.write(name, pipeline, into: models) }
        let taught = teaches ? ["--taught-dir", folder.appendingPathComponent("taught").path] : []
        self.flags = ["--models", models.path] + taught + flags
        daemon = try Daemon(self.flags)
    }

    deinit {
        daemon.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    static func copy(_ fixture: String, to name: String, in models: URL) throws {
        try FileManager.default.copyItem(
            at: fixtures.appendingPathComponent(fixture), to: models.appendingPathComponent(name))
    }

    static func write(_ name: String, _ pipeline: String, into models: URL) throws {
        let bundle = models.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        try "{\"name\": \"\(name)\", \"id\": \"\(name)\", \"version\": \"1\", \"pipeline\": \(pipeline)}"
            .write(to: bundle.appendingPathComponent("model.json"), atomically: true, encoding: .utf8)
    }

    // MARK: Pictures

    typealias Color = (red: UInt8, green: UInt8, blue: UInt8)

    /// A picture of stripes of one colour each, from left to right, of equal widths.
    static func png(_ colors: [Color], width: Int = 200, height: Int = 100) throws -> Data {
        try png(width: width, height: height) { x, _ in colors[x * colors.count / width] }
    }

    /// A picture with a colour for each place.
    static func png(width: Int, height: Int, _ color: (_ x: Int, _ y: Int) -> Color) throws -> Data {
        var pixels: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                let color = color(x, y)
                pixels += [color.red, color.green, color.blue]
            }
        }
        return Data(
            try pixels.withUnsafeBytes {
                try PNGEncoder.encode(width: width, height: height, channels: 3, pixels: $0)
            })
    }

    // MARK: Requests

    func get(_ path: String, _ arguments: [String] = []) throws -> Answer { try Curl.run(url + path, arguments) }

    func post(_ picture: Data, _ path: String, _ arguments: [String] = []) throws -> Answer {
        try Curl.run(url + path, ["--data-binary", "@-"] + arguments, input: picture)
    }

    /// Posts a form; a value that begins with `@` is a file in this daemon's folder.
    func form(_ fields: [(name: String, value: String)], _ path: String, _ arguments: [String] = []) throws -> Answer {
        let parts = fields.flatMap { name, value in
            ["-F", value.hasPrefix("@") ? "\(name)=@\(folder.path)/\(value.dropFirst())" : "\(name)=\(value)"]
        }
        return try Curl.run(url + path, parts + arguments)
    }

    /// Writes a file of this daemon's folder, for forms.
    func write(_ data: Data, as name: String) throws { try data.write(to: folder.appendingPathComponent(name)) }

    @discardableResult
    func create(_ name: String, method: String = "nearest_mean") throws -> Answer {
        try Curl.run(
            url + "/v1/taught/\(name)",
            ["-X", "PUT", "--data-binary", "{\"embedder\": \"means\", \"method\": \"\(method)\"}"])
    }

    @discardableResult
    func teach(_ label: String, _ picture: Data, to name: String) throws -> Answer {
        try post(picture, "/v1/taught/\(name)/examples?label=\(label)")
    }

    /// The taught model once it has been evaluated.
    func evaluated(_ name: String) throws -> [String: Any] {
        var json: [String: Any] = [:]
        try eventually {
            json = try get("/v1/taught/\(name)").json
            return json["evaluating"] as? Bool == false
        }
        return json
    }

    func reload() {
        daemon.signal(SIGHUP)
    }
}

extension Answer {
    var detections: [[String: Any]] { json["detections"] as? [[String: Any]] ?? [] }

    /// The answers of a stage, one for each detection.
    func stage(_ name: String) -> [[String: Any]] { detections.compactMap { $0[name] as? [String: Any] } }
}

/// The horizontal range of a detection's box.
func columns(of detection: [String: Any]) -> ClosedRange<Double> {
    let box = detection["box"] as? [String: Any] ?? [:]
    let x = box["x"] as? Double ?? .nan, width = box["width"] as? Double ?? .nan
    return x.isFinite && width >= 0 ? x...(x + width) : 0...0
}
