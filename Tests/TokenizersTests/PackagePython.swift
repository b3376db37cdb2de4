import Foundation
import TestSupport
import Tokenizers

/// The `tokenizers` package in an environment of its own under .build, created once if pip can reach its index.
enum PackagePython {
    private static let folder = SharedData.packageRoot.appendingPathComponent(".build/tokenizers-client")
    private static let clients = SharedData.packageRoot.appendingPathComponent("Tests/Clients")

    /// True if the environment exists, or could be created.
    static let isAvailable: Bool = {
        let requirements = clients.appendingPathComponent("requirements-tokenizers.txt")
        let mark = folder.appendingPathComponent("ready")
        guard let wanted = try? Data(contentsOf: requirements) else { return false }
        if (try? Data(contentsOf: mark)) == wanted { return true }
        guard Shell.has("python3"), let made = try? Shell.run("python3", ["-m", "venv", folder.path]),
            made.status == 0,
            let installed = try? Shell.run(
                folder.path + "/bin/pip",
                ["install", "-q", "--disable-pip-version-check", "-r", requirements.path]),
            installed.status == 0
        else { return false }
        try? wanted.write(to: mark)
        return true
    }()

    /// The reason of a skipped test.
    static let absence =
        "the package of Tests/Clients/requirements-tokenizers.txt cannot be installed: pip needs its index"

    /// The result of the package for one text.
    struct Result: Equatable {
        let ids: [UInt32]
        let mask: [UInt8]
        let typeIDs: [UInt32]
    }

    /// Encodes texts with each tokenizer. A text is nil where the package reports an error.
    static func encode(_ texts: [String], with tokenizers: [[UInt8]]) throws -> [[Result?]] {
        let contents = tokenizers.map { String(decoding: $0, as: UTF8.self) }
        let output = try run(["tokenizers": contents, "texts": texts])
        return try JSONDecoder().decode([[[[UInt32]]?]].self, from: output).map { answers in
            answers.map { answer in
                answer.map { Result(ids: $0[0], mask: $0[1].map { UInt8($0) }, typeIDs: $0[2]) }
            }
        }
    }

    /// The numbers of the texts for which the package has other ids than those found.
    static func differences(_ texts: [String], _ tokenizer: [UInt8], found: [[UInt32]]) throws -> [Int] {
        var data = Data()
        for ids in found {
            for number in [UInt32(ids.count)] + ids { withUnsafeBytes(of: number) { data.append(contentsOf: $0) } }
        }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ids-\(UUID().uuidString)")
        try data.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let content = String(decoding: tokenizer, as: UTF8.self)
        let output = try run(["tokenizers": [content], "texts": texts, "found": file.path])
        return try JSONDecoder().decode([[Int]].self, from: output)[0]
    }

    private static func run(_ request: [String: Any]) throws -> Data {
        let script = clients.appendingPathComponent("tokenizer_ids.py").path
        let run = try Shell.run(
            folder.path + "/bin/python", [script], input: try JSONSerialization.data(withJSONObject: request))
        guard run.status == 0 else { throw Failure(text: run.errors) }
        return run.output
    }

    struct Failure: Error { let text: String }
}

extension PackagePython.Result {
    init(_ encoding: Encoding) { self.init(ids: encoding.ids, mask: encoding.mask, typeIDs: encoding.typeIDs) }
}
