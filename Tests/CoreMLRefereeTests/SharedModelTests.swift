import CoreMLReferee
import FileFormats
import Foundation
import TestSupport
import Testing

/// Published and exported models, which are not part of the project.
@Suite(.enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
struct SharedModelTests {
    /// All files with the ending of Core ML below the shared data.
    private static let files: [RefereeFile] = {
        guard let folder = SharedData.folder,
            let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap({ $0 as? String })
        else { return [] }
        return paths.filter { $0.hasSuffix(".mlmodel") }.sorted().compactMap { path in
            (try? Data(contentsOf: folder.appendingPathComponent(path))).map {
                RefereeFile(name: path, bytes: [UInt8]($0))
            }
        }
    }()

    @Test("no published or exported classical model is accused, and some are judged")
    func noneIsAccused() throws {
        var judged = 0
        for file in Self.files {
            guard let referee = try? file.referee else { continue }
            let importer = try ImporterAnswers(file.bytes)
            for seed in UInt64(0)..<8 {
                let result = TrialResult(referee, seed: seed) { try importer($0) }
                if let difference = result.difference { Issue.record("\(file.name), seed \(seed): \(difference)") }
                #expect(result.judged >= 16, "\(file.name), seed \(seed): \(Set(result.unjudged))")
            }
            judged += 1
        }
        #expect(judged >= 4)
    }

    /// The answers of exported heads, which another program computed.
    private struct Export: Decodable {
        var vectors: [[Double]]
        var files: [String: Head]

        struct Head: Decodable { var answers: [Answer] }

        struct Answer: Decodable {
            var label: String
            var probs: [String: Double]
        }
    }

    @Test("the referee gives the expected labels and probabilities of exported heads")
    func exportedHeads() throws {
        let folder = try #require(SharedData.folder).appendingPathComponent("trust/export")
        let data = try Data(contentsOf: folder.appendingPathComponent("expected.json"))
        let export = try JSONDecoder().decode(Export.self, from: data)
        for (name, head) in export.files {
            let bytes = [UInt8](try Data(contentsOf: folder.appendingPathComponent("\(name).mlmodel")))
            let referee = try CoreMLReferee(ByteSource(bytes))
            // The neighbors are meant for weights by the distance itself.
            let readings = [referee, referee.otherReading].compactMap(\.self)
            let differences = try readings.map { reading in
                try zip(export.vectors, head.answers).map { try Self.difference(reading, $0, $1) }.max() ?? .infinity
            }
            #expect(differences.count == (name == "nearest_neighbors" ? 2 : 1))
            #expect(differences.contains { $0 < 1e-9 }, "\(name): \(differences)")
        }
    }

    /// The largest difference of a probability; infinite if the labels differ.
    private static func difference(_ referee: CoreMLReferee, _ vector: [Double], _ answer: Export.Answer) throws
        -> Double
    {
        let outputs = try referee.evaluate(["embedding": .array(vector.map { Number($0) })])
        guard case .label(let keys)? = outputs["label"], keys.first == Key(answer.label),
            case .dictionary(let classes, let shares)? = outputs["labelProbability"]
        else { return .infinity }
        return zip(classes, shares).map { abs($1.value - (answer.probs[$0.description] ?? 0)) }.max() ?? .infinity
    }
}
