import Foundation
import Teaching
import Testing

/// A folder that is removed at the end of a test.
final class TemporaryFolder {
    let path = NSTemporaryDirectory() + "teaching-\(UUID().uuidString)"

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The bytes of all files in the folder, one after another.
    var contents: Data {
        let names = FileManager.default.enumerator(atPath: path)?.allObjects.compactMap { $0 as? String } ?? []
        return names.sorted().reduce(into: Data()) { bytes, name in
            bytes.append(Data(name.utf8))
            bytes.append((try? Data(contentsOf: URL(fileURLWithPath: path + "/" + name))) ?? Data())
        }
    }

    var names: [String] {
        (FileManager.default.enumerator(atPath: path)?.allObjects.compactMap { $0 as? String } ?? []).sorted()
    }
}

extension Embedder {
    static let test = Embedder(model: "embedder", version: "1", digest: "sha256:1")
}

extension TaughtModel.NewExample {
    /// An example with a text as its picture.
    init(_ picture: String, _ label: String, _ embedding: [Float], keep: Bool = false) {
        let bytes = Array(picture.utf8)
        self.init(
            id: bytes.withUnsafeBytes { ExampleID(of: $0) }, label: label, embedding: embedding,
            picture: keep ? bytes : nil)
    }
}
