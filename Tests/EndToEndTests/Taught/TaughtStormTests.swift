import Foundation
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// Changes of taught models while the daemon is killed, and while it classifies.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct TaughtStormTests {
    /// The daemon is killed while one client changes a taught model: afterwards it has the last acknowledged version,
    /// or the one in progress, each whole.
    @Test("kill -9 during a change of a taught model leaves the version before or after that change, whole")
    func killsLeaveTheAcknowledgedVersionOrTheNextOne() throws {
        let seed = SplitMix.seed(for: "killsLeaveTheAcknowledgedVersionOrTheNextOne")
        var random = SplitMix(seed: seed)
        let server = try TaughtDaemon(["--taught-keep-pictures=true", "--taught-keep-versions=3"])
        try server.create(method: "nearest_mean")
        var writer = TaughtHistory(server, "parts")
        try writer.teachFirst()
        var interrupted = 0, isNext = 0
        for round in 0..<LongTests.times(10, long: 200) {
            let pid = server.daemon.pid, delay = UInt32.random(in: 1_000..<150_000, using: &random)
            let killer = DispatchQueue(label: "killer")
            killer.async {
                usleep(delay)
                kill(pid, SIGKILL)
            }
            while try writer.change(&random) {}
            killer.sync {}
            try server.restart(killing: true)
            let found = try writer.found()
            let expected = [writer.acknowledged, writer.next].compactMap { $0 }
            #expect(expected.contains(found), "kill \(round), seed \(seed): \(found) is none of \(expected)")
            if let next = writer.next {
                interrupted += 1
                if found == next { isNext += 1 }
            }
            writer.goOn(from: found)
            // Exactly the pictures of the examples are kept, and no unfinished file.
            let files = FileManager.default.enumerator(atPath: server.store.path)?.allObjects as? [String] ?? []
            let pictures = files.filter { $0.hasPrefix("parts/pictures/") }.map { String($0.suffix(64)) }
            #expect(Set(pictures) == Set(found.labels.keys), "kill \(round), seed \(seed)")
            #expect(!files.contains { $0.contains("unfinished") || $0.contains(".new") }, "\(files)")
        }
        print("killed while a change was made: \(interrupted), of which the change was kept: \(isNext)")
        #expect(interrupted > 0)
        // An earlier version with fewer examples may serve.
        try writer.serveNewest()
        try writer.compareWithFresh(named: "fresh")
        #expect(server.daemon.stop() == 0)
    }

    /// Histories of teaching, moving, forgetting and choosing versions: the result equals teaching only the remaining
    /// examples, and no file has forgotten data.
    @Test("random histories of teaching and forgetting equal fresh teaching, without a trace in files")
    func forgettingEqualsNeverTaught_overHTTP() throws {
        let seed = SplitMix.seed(for: "forgettingEqualsNeverTaught_overHTTP")
        var random = SplitMix(seed: seed)
        let server = try TaughtDaemon(["--taught-keep-pictures=true"])
        let methods = ["nearest_mean", "logistic", "nearest_neighbors"]
        for history in 0..<LongTests.times(3, long: 100) {
            let name = "history\(history)"
            try server.create(name, method: methods[history % 3])
            var writer = TaughtHistory(server, name, first: history * 1_000)
            try writer.teachFirst()
            for _ in 0..<Int.random(in: 6...14, using: &random) { #expect(try writer.change(&random)) }
            #expect(try writer.found() == writer.acknowledged, "history \(history), seed \(seed)")
            try writer.serveNewest()
            try writer.compareWithFresh(named: "fresh\(history)")
            try writer.expectNoTrace()
            for model in [name, "fresh\(history)"] { #expect(try server.delete(model).status == 204) }
        }
        #expect(server.daemon.stop() == 0)
    }

    /// Every answer is from one version: its classes are those acknowledged for this version.
    @Test("answers during a storm of changes never mix the classes of two versions")
    func aStormOfChanges_neverMixesVersions() throws {
        let server = try TaughtDaemon(["--taught-keep-versions", "1000"])
        try server.create()
        try server.teachKinds(2, 3)
        let classes = Mutex<[String: Set<String>]>([:])
        let answers = Mutex<[(version: String, labels: Set<String>, top: String)]>([])
        func note(_ answer: Answer) {
            let labels = (answer.json["classes"] as? [[String: Any]] ?? []).compactMap { $0["label"] as? String }
            guard let version = answer.json["version"] as? String else { return }
            classes.withLock { $0[version] = Set(labels) }
        }
        note(try server.get("/v1/taught/parts"))
        let isOver = Mutex(false)
        let failures = Mutex<[String]>([])
        let group = DispatchGroup()
        let url = server.url
        for reader in 0..<2 {
            DispatchQueue.global().async(group: group) {
                var number = 0
                while !isOver.withLock({ $0 }) {
                    number += 1
                    let picture = TaughtPicture.png(kind: reader, number: 50 + number % 10)
                    guard
                        let answer = try? Curl.run(
                            url + "/v1/models/parts/classify?top=2", ["--data-binary", "@-"], input: picture)
                    else { continue }
                    guard answer.status == 200 else {
                        failures.withLock { $0.append(answer.text) }
                        continue
                    }
                    let labels = Set(answer.classifications.compactMap { $0["label"] as? String })
                    answers.withLock {
                        $0.append((answer.json["version"] as? String ?? "", labels, "\(reader) \(answer.topLabel)"))
                    }
                }
            }
        }
        for round in 0..<40 {
            let picture = TaughtPicture.png(kind: 3, number: round)
            note(try server.teach("extra\(round % 3)", picture))
            if round % 5 == 4 { note(try server.delete("parts/classes?label=extra\(round % 3)")) }
        }
        isOver.withLock { $0 = true }
        group.wait()
        #expect(failures.withLock { $0 }.isEmpty, "\(failures.withLock { $0.prefix(2) })")
        let known = classes.withLock { $0 }
        let all = answers.withLock { $0 }
        #expect(all.count > 20)
        for answer in all {
            // A version made by an evaluation has the classes of the one before.
            guard let expected = known[answer.version] else { continue }
            #expect(
                answer.labels.isSubset(of: expected), "version \(answer.version): \(answer.labels), not \(expected)")
            #expect(answer.top == "0 kind0" || answer.top == "1 kind1", "\(answer)")
        }
        #expect(server.daemon.stop() == 0)
    }
}
