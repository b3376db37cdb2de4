import Foundation
import ImagePipeline
import TestSupport
import Testing

/// The shared cases of raw frames, PNM and orientations: `../shared/data/seeds`, described in its README.
enum Seeds {
    static let areAvailable = (try? bytes("cases.json")) != nil

    static func bytes(_ file: String) throws -> [UInt8] {
        guard let folder = SharedData.folder else { throw CocoaError(.fileNoSuchFile) }
        return [UInt8](try Data(contentsOf: folder.appendingPathComponent("seeds/\(file)")))
    }

    /// The pixels of a PNG.
    static func pixels(_ file: String) throws -> PixelImage {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 1, height: 1))
        return try bytes(file).withUnsafeBytes { try pipeline.pixels($0) }
    }

    /// A case of a group in `cases.json`.
    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        let file: String?
        /// The number of zero bytes of a body without a file.
        let bytes: Int?
        let type: String?
        let expected: String?
        let tolerance: Int?
        let error: String?

        var testDescription: String { "\(file ?? "\(bytes ?? 0) bytes") \(type ?? "")" }
    }

    private struct Groups: Decodable {
        let raw: [Case]
        let pnm: [Case]
    }

    private static let groups = try? JSONDecoder().decode(Groups.self, from: Data(bytes("cases.json")))
    static let raw = groups?.raw ?? []
    static let pnm = groups?.pnm ?? []
}
