import FileFormats
import Foundation
import TestSupport

/// Files written by the reference libraries of the formats (Tests/FixtureMakers/make-format-fixtures).
enum Fixtures {
    static func bytes(_ name: String) throws -> [UInt8] {
        let folder = SharedData.packageRoot.appendingPathComponent("Tests/FileFormatsTests/Fixtures")
        return [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
    }

    /// Sources of the bytes: in memory, and fetched in pieces.
    static func sources(_ bytes: [UInt8]) -> [ByteSource] {
        [ByteSource(bytes), ByteSource(count: bytes.count) { Array(bytes[$0]) }]
    }
}
