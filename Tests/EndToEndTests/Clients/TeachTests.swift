import Foundation
import TestSupport
import Testing

/// `ocelli teach --text-vectors` compared with numpy: Tests/FixtureMakers/make-teaching-fixtures wrote both sides.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)))
struct TeachTests {
    private static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/text-vectors")
    private let output = FileManager.default.temporaryDirectory.appendingPathComponent("classes-\(UUID().uuidString)")

    private func teach(_ vectors: String, _ labels: String = "labels.txt", _ more: [String] = []) throws -> Shell.Result
    {
        try Shell.run(
            Daemon.binary.path,
            ["teach", "--text-vectors", vectors, "--labels", labels, "-o", output.path] + more, directory: Self.folder)
    }

    /// The parts of a safetensors file: its texts, and its one tensor.
    private func parts(_ file: Data) throws -> (metadata: [String: String], shape: [Int], values: [Float]) {
        let length = file.prefix(8).enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
        let header = try #require(
            try JSONSerialization.jsonObject(with: file[8..<8 + length]) as? [String: [String: Any]])
        let shape = try #require(header["classes"]?["shape"] as? [Int])
        let values = file[(8 + length)...].withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
        return (try #require(header["__metadata__"] as? [String: String]), shape, values)
    }

    @Test("class vectors of `teach --text-vectors` are those of numpy", arguments: ["prompts", "single"])
    func vectorsOfClassesAreThoseOfNumpy(_ name: String) throws {
        defer { try? FileManager.default.removeItem(at: output) }
        let result = try teach("\(name).npy", "labels.txt", ["--scale", "20"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.contains("3 classes of 6 numbers, scale 20"))
        let expected = try JSONDecoder().decode(
            [String: [Float]].self, from: Data(contentsOf: Self.folder.appendingPathComponent("expected.json")))
        let found = try parts(Data(contentsOf: output))
        #expect(found.shape == [3, 6] && found.metadata["scale"] == "20.0")
        #expect(found.metadata["labels"] == "cat\ndog\nGlühwürmchen")
        let wanted = try #require(expected[name])
        #expect(found.values.count == wanted.count)
        for (one, other) in zip(found.values, wanted) { #expect(abs(one - other) < 1e-6) }
    }

    /// The written file makes an embedding model a classifier: it replaces the bundle's own file, which numpy made.
    @Test("the file of `teach --text-vectors` equals numpy's, and the bundle with the file passes `check`")
    func bundlesWithTheFileAreValid() throws {
        let bundle = FileManager.default.temporaryDirectory.appendingPathComponent("zeroshot-\(UUID().uuidString)")
        defer { for file in [output, bundle] { try? FileManager.default.removeItem(at: file) } }
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/observations/zeroshot"), to: bundle)
        let file = bundle.appendingPathComponent("classes.safetensors")
        let before = try parts(Data(contentsOf: file))
        // These vectors as a NumPy file.
        let shape = "(\(before.shape[0]), \(before.shape[1]))"
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': \(shape), }\n"
        var array = Data([0x93]) + Data("NUMPY".utf8) + Data([1, 0, UInt8(header.utf8.count), 0]) + Data(header.utf8)
        before.values.withUnsafeBytes { array.append(contentsOf: $0) }
        let vectors = bundle.appendingPathComponent("vectors.npy"), labels = bundle.appendingPathComponent("names.txt")
        try array.write(to: vectors)
        try Data((before.metadata["labels"] ?? "").utf8).write(to: labels)
        let made = try teach(vectors.path, labels.path, ["--scale", before.metadata["scale"] ?? ""])
        #expect(made.status == 0, "\(made.errors)")
        let after = try parts(Data(contentsOf: output))
        #expect(after.metadata == before.metadata && after.shape == before.shape)
        for (one, other) in zip(after.values, before.values) { #expect(abs(one - other) < 1e-6) }
        try FileManager.default.removeItem(at: file)
        try FileManager.default.copyItem(at: output, to: file)
        let check = try Shell.run(Daemon.binary.path, ["check", bundle.path])
        #expect(check.status == 0, "\(check.text)\(check.errors)")
    }

    @Test("`teach --text-vectors` names missing and unfitting files and a wrong scale, and writes nothing")
    func filesThatDoNotFitAreNamed() throws {
        let none = try teach("nothing.npy")
        #expect(none.status == 1 && none.errors.contains("nothing.npy cannot be read: no such file"))
        let other = try teach("labels.txt")
        #expect(other.status == 1 && other.errors.contains("labels.txt is not an NPY file"))
        let fewer = FileManager.default.temporaryDirectory.appendingPathComponent("labels-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: fewer) }
        try Data("cat\ndog\n".utf8).write(to: fewer)
        let labels = try teach("single.npy", fewer.path)
        #expect(labels.status == 1 && labels.errors.contains("has 2 labels: single.npy has 3 classes"))
        let scale = try teach("single.npy", "labels.txt", ["--scale", "-1"])
        #expect(scale.status == 2 && scale.errors.contains("--scale: expected a number above 0, found \"-1\""))
        let usage = try Shell.run(Daemon.binary.path, ["teach", "--labels", "labels.txt"])
        #expect(usage.status == 2 && usage.errors.contains("expected --text-vectors, --labels and -o"))
        #expect(!FileManager.default.fileExists(atPath: output.path))
    }
}
