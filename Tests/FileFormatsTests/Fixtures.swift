import FileFormats
import Foundation
import TestSupport

/// Files written by the libraries that define the formats (Tests/FixtureMakers/make-format-fixtures).
enum Fixtures {
    static func bytes(_ name: String) throws -> [UInt8] {
        let folder = SharedData.packageRoot.appendingPathComponent("Tests/FileFormatsTests/Fixtures")
        return [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
    }

    /// The same bytes in memory, and fetched piece by piece.
    static func sources(_ bytes: [UInt8]) -> [ByteSource] {
        [ByteSource(bytes), ByteSource(count: bytes.count) { Array(bytes[$0]) }]
    }
}
