import Foundation
import TestSupport
import Testing

/// Pictures with different answers of two versions, kept as files in `state_dir`.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct KeptPicturesTests {
    /// A daemon with version 2 of "ten", which has other names for all classes and is compared with version 1.
    private final class Scene {
        let models: RolloutTests.Models
        let daemon: Daemon
        let state = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        var kept: [String] {
            let path = state.appendingPathComponent("differences/ten").path
            return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
        }
        static let plan = #"{"serve": "1", "candidate": {"version": "2", "shadow": 1}}"#

        init(_ arguments: [String]) throws {
            models = try RolloutTests.Models(["1", "2"])
            let labels = models.place.appendingPathComponent("2/labels.txt")
            try Data("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n".utf8).write(to: labels)
            daemon = try Daemon(["--models", models.folder.path, "--state-dir", state.path] + arguments)
            #expect(try RolloutTests.put(Self.plan, to: daemon).status == 200)
        }

        deinit { try? FileManager.default.removeItem(at: state) }

        /// Sends twelve pictures, which differ only in a comment, until the rollout meets a condition, for at most a
        /// minute.
        func send(until isAwaited: ([String: Any]) -> Bool) throws -> [String: Any] {
            let photo = SharedData.packageRoot.appendingPathComponent("examples/nine-photo.jpg")
            let bytes = try Data(contentsOf: photo), file = models.folder.appendingPathComponent("picture")
            let end = Date() + 60
            var found: [String: Any] = [:], number = UInt8(0)
            while Date() < end {
                // A comment of one byte after the first two segments.
                try (bytes.prefix(20) + Data([0xFF, 0xFE, 0, 3, number]) + bytes.dropFirst(20)).write(to: file)
                let answer = try Curl.run(
                    daemon.url + "/v1/models/ten/classify",
                    ["--data-binary", "@" + file.path, "-H", "Cache-Control: no-store"])
                #expect(answer.status == 200, "\(answer.text)")
                found = try RolloutTests.state(daemon)
                if isAwaited(found) { break }
                number = (number + 1) % 12
            }
            return found
        }
    }

    @Test("with keep_differences the ten listed pictures are kept, and a deletion removes them")
    func tenPicturesAreKeptUntilTheRolloutIsDeleted() throws {
        let scene = try Scene(["--keep-differences=true"])
        let found = try scene.send {
            ($0["differences"] as? [Any])?.count == 10 && ($0["compared"] as? Int ?? 0) >= 30
        }
        let listed = (found["differences"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }.sorted()
        #expect(listed.count == 10, "\(found)")
        #expect(eventually { scene.kept == listed }, "\(scene.kept)")
        #expect(try Curl.run(scene.daemon.url + "/v1/models/ten/rollout", ["-X", "DELETE"]).status == 200)
        #expect(eventually { scene.kept.isEmpty }, "\(scene.kept)")
        #expect(scene.daemon.stop() == 0)
    }

    @Test("without keep_differences no picture is kept")
    func withoutTheSettingNoPictureIsKept() throws {
        let scene = try Scene([])
        let found = try scene.send { ($0["compared"] as? Int ?? 0) >= 3 }
        #expect((found["differences"] as? [Any] ?? []).count >= 3, "\(found)")
        #expect(!FileManager.default.fileExists(atPath: scene.state.appendingPathComponent("differences").path))
        #expect(scene.daemon.stop() == 0)
    }
}
