import Foundation
import TestSupport
import Testing

/// The memory of pictures that are decoded at the same time is limited, however many models there are.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct DecodeMemoryTests {
    @Test("large pictures to many models are decoded in bounded memory, and all are answered")
    func manyModels() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("decode-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let names = (0..<6).map { "m\($0)" }
        for name in names {
            try FileManager.default.copyItem(
                at: SharedData.packageRoot.appendingPathComponent("models/digits"),
                to: folder.appendingPathComponent(name))
        }
        // Each takes 64 MB while it is decoded, so that they run one after the other.
        let picture = CancellationPicture.png(width: 4000, height: 4000, isInterlaced: true, hasColor: true)
        let file = folder.appendingPathComponent("picture.png")
        try picture.write(to: file)
        let daemon = try Daemon([
            "--models", folder.path, "--max-total-decode", "80MiB", "--access-log=false", "--load-trial=false",
        ])
        let small = CancellationPicture.png(width: 28, height: 28)
        for name in names {
            let answer = try Curl.run(
                daemon.url + "/v1/models/\(name)/classify", ["--data-binary", "@-"], input: small)
            #expect(answer.status == 200, "\(answer.text)")
        }
        let before = daemon.maximumResidentKiB
        let urls = names.map { daemon.url + "/v1/models/\($0)/classify" }
        let answers = try Shell.run(
            "curl",
            [
                "-sS", "--parallel", "--parallel-immediate", "--parallel-max", "6", "--max-time", "120", "-w",
                "%{http_code}\n",
            ] + urls.flatMap { ["-o", "/dev/null", $0] } + ["--data-binary", "@" + file.path])
        let statuses = String(decoding: answers.output, as: UTF8.self).split(separator: "\n")
        #expect(statuses == Array(repeating: "200", count: 6), "\(statuses)")
        let grown = daemon.maximumResidentKiB - before
        // The pictures themselves are less than a megabyte each.
        #expect(grown < (80 + 32) << 10, "\(grown) KiB")
        daemon.signal(SIGTERM)
    }
}
