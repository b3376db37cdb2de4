import Foundation
import Synchronization
import TestSupport
import Testing

/// Changes of taught models while the daemon is killed, and while it classifies.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct TaughtStormTests {
    /// What was acknowledged: the class of each example, by the number of its picture; nil while nothing is known of it.
    private struct Acknowledged {
        var labels: [Int: String] = [:]
        var forgotten: Set<Int> = []
        /// Requests without an answer: either is right.
        var open: Set<Int> = []
        var next = 0
    }

    @Test func whatWasAcknowledged_survivesKills() throws {
        let seed = SplitMix.seed(for: "whatWasAcknowledged_survivesKills")
        var random = SplitMix(seed: seed)
        let server = try TaughtDaemon(["--taught-max-examples", "100000"])
        try server.create()
        let known = Mutex(Acknowledged())
        let ids = Mutex<[Int: String]>([:])
        for kill in 0..<LongTests.times(6, long: 20) {
            let url = server.url
            let isOver = Mutex(false)
            let group = DispatchGroup()
            for writer in 0..<3 {
                let begin = random.next()
                DispatchQueue.global().async(group: group) {
                    var random = SplitMix(seed: begin)
                    while !isOver.withLock({ $0 }) { Self.change(url, writer, known, ids, &random) }
                }
            }
            Thread.sleep(forTimeInterval: Double.random(in: 0.05..<0.5, using: &random))
            server.daemon.signal(SIGKILL)
            isOver.withLock { $0 = true }
            group.wait()
            try server.restart(killing: true)
            let list = try #require(
                try server.get("/v1/taught/parts/examples").json["examples"] as? [[String: Any]], "kill \(kill)")
            let found = Dictionary(uniqueKeysWithValues: list.map { ($0["id"] as? String ?? "", $0["label"] as? String ?? "") })
            known.withLock { known in
                for (number, label) in known.labels where !known.open.contains(number) {
                    let id = ids.withLock { $0[number] } ?? ""
                    #expect(found[id] == label, "kill \(kill), seed \(seed): picture \(number)")
                }
                for number in known.forgotten where !known.open.contains(number) {
                    let id = ids.withLock { $0[number] } ?? ""
                    #expect(found[id] == nil, "kill \(kill), seed \(seed): picture \(number) was forgotten")
                }
                #expect(found.count <= known.labels.count + known.open.count)
                // From now on what is there is what counts.
                for number in known.open {
                    let id = ids.withLock { $0[number] } ?? ""
                    known.labels[number] = found[id]
                }
                known.open = []
            }
        }
        let count = known.withLock { $0.labels.count }
        #expect(count > 20, "\(count) examples: too few to tell anything")
        #expect(server.daemon.stop() == 0)
    }

    /// One change by one writer, each of which has its own pictures.
    private static func change(
        _ url: String, _ writer: Int, _ known: borrowing Mutex<Acknowledged>, _ ids: borrowing Mutex<[Int: String]>,
        _ random: inout SplitMix
    ) {
        let own = known.withLock { known in known.labels.keys.filter { $0 % 3 == writer && !known.open.contains($0) } }
        if random.chance(20), let number = own.randomElement(using: &random), let id = ids.withLock({ $0[number] }) {
            known.withLock { _ = $0.open.insert(number) }
            let answer = try? Curl.run(url + "/v1/taught/parts/examples/\(id)", ["-X", "DELETE"])
            guard answer?.status == 200 else { return }
            known.withLock { known in
                known.open.remove(number)
                known.labels[number] = nil
                known.forgotten.insert(number)
            }
            return
        }
        let number = known.withLock { known in
            known.next += 1
            let number = known.next * 3 + writer
            known.open.insert(number)
            return number
        }
        let picture = TaughtPicture.png(kind: number % 4, number: number)
        let id = String((try? Shell.run("sha256sum", [], input: picture).text.prefix(64)) ?? "")
        ids.withLock { $0[number] = id }
        let label = "kind\(number % 4)"
        let answer = try? Curl.run(
            url + "/v1/taught/parts/examples?label=\(label)", ["--data-binary", "@-"], input: picture)
        guard answer?.status == 201 else { return }
        known.withLock { known in
            known.open.remove(number)
            known.labels[number] = label
        }
    }

    /// Every answer is that of one version: its classes are those that this version was acknowledged with.
    @Test func aStormOfChanges_neverMixesVersions() throws {
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
            // A version that an evaluation made has the classes of the one before.
            guard let expected = known[answer.version] else { continue }
            #expect(answer.labels.isSubset(of: expected), "version \(answer.version): \(answer.labels), not \(expected)")
            #expect(answer.top == "0 kind0" || answer.top == "1 kind1", "\(answer)")
        }
        #expect(server.daemon.stop() == 0)
    }
}
