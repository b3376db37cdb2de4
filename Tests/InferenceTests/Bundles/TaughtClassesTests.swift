import FileFormats
import Foundation
import Inference
import Teaching
import TestSupport
import Testing

/// Bundles with `"taught": "taught.safetensors"`: the answers equal those of the taught model, and damaged files are
/// problems.
@Suite struct TaughtClassesTests {
    private static func heads() throws -> [TaughtClassifier] {
        var random = SplitMix(seed: 4)
        let rows = (0..<12).map { _ in (0..<4).map { _ in Float.random(in: -1...1, using: &random) } }
        let set = try #require(
            ExampleSet(dimension: 4, labels: ["bolt", "nut", "ネジ"], rows: rows, classes: (0..<12).map { $0 / 4 }))
        return try TeachingMethod.classifiers.flatMap { method in
            var known = try #require(TaughtClassifier(method, set))
            let unknown = known
            known.threshold = 0.3
            return [unknown, known]
        }
    }

    private static func load(
        _ file: [UInt8], _ more: String = "", answer: [Float] = [3, 0, 4, 0], shape: Shape = [1, 4]
    ) async throws -> Result<Model, InferenceError> {
        let folder = try TemporaryFolder()
        let path = try folder.write([
            "m.onnx": "", "labels.txt": "a\nb\nc\n",
            "model.json": """
            { "name": "n", "id": "n", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
              "inputs": [ { "name": "image", "type": "image", "format": "RGB", "shape": [32, 32, 3] } ],
              "outputs": [ { "name": "vector", "type": "embedding", "taught": "t.safetensors"\(more) } ] }
            """,
        ])
        try Data(file).write(to: folder.url.appendingPathComponent("t.safetensors"))
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine(
            inputs: [TensorPort(name: "image", elementType: .float32, shape: [-1, 32, 32, 3])],
            outputs: [TensorPort(name: "vector", elementType: .float32, shape: shape)],
            answer: answer.withUnsafeBytes { Array($0) })
        do throws(InferenceError) {
            return .success(try await Model.load(contentsOf: path, configuration: configuration))
        } catch {
            return .failure(error)
        }
    }

    private static func picture() throws -> EncodedImage {
        let file = SharedData.packageRoot.appendingPathComponent("examples/seven.png")
        return EncodedImage(Array(try Data(contentsOf: file)))
    }

    @Test(
        "a bundle with taught classes answers bit for bit like the taught head",
        arguments: [("", [0.6, 0, 0.8, 0] as [Float]), (#", "normalize": "none""#, [3, 0, 4, 0])])
    func aBundleAnswersBitForBitLikeTheTaughtModel(_ more: String, _ embedding: [Float]) async throws {
        for head in try Self.heads() {
            let model = try await Self.load(TaughtFile.bytes(of: head), more).get()
            #expect(model.isImageClassifier && model.description.classLabels == ["bolt", "nut", "ネジ"])
            #expect(model.taughtClassifier == head)
            let result = try await model.classification(of: Self.picture(), top: 3)
            let expected = try #require(head.answer(embedding))
            #expect(result.taught == TaughtMark(distance: expected.distance, isKnown: expected.isKnown))
            #expect(result.taught?.isKnown == head.threshold.map { expected.distance <= $0 })
            #expect(result.areConfidences && result.classifications.count == 3)
            #expect(result.classifications.first?.index == expected.first)
            for one in result.classifications {
                #expect(one.confidence == expected.confidences[one.index] && one.label == head.labels[one.index])
            }
            // A threshold of confidences omits classes, but does not change whether the picture is known.
            let few = try await model.classification(of: Self.picture(), top: 1, threshold: 0.999)
            #expect(few.taught == result.taught && few.classifications.count <= 1)
            // It still computes embeddings.
            let embedded = try await model.observations(of: Self.picture(), request: ObservationRequest(task: .embed))
            guard case .embedding(let values) = embedded.content else { throw CancellationError() }
            #expect(values == embedding)
        }
    }

    @Test("a bundle of normal examples answers bit for bit like the taught head")
    func aBundleOfNormalExamplesFindsAnomalies() async throws {
        let rows: [[Float]] = [[0.6, 0, 0.8, 0.01], [0.6, 0.02, 0.8, 0], [0.6, 0, 0.79, 0.03], [0, 1, 0, 0]]
        var normal = try #require(NormalExamples(rows, dimension: 4, falseAlarms: 0.4))
        normal.leftOut = LeftOutScores([0.00001, 0.0002, 0.0003, 0.9], falseAlarms: 0.4)
        let head = TaughtClassifier(normal), bytes = TaughtFile.bytes(of: head)
        let model = try await Self.load(bytes).get()
        #expect(model.isImageClassifier && model.description.classLabels == ["normal"])
        #expect(model.taughtClassifier == head)
        let result = try await model.classification(of: Self.picture(), top: 1)
        let expected = try #require(head.answer([0.6, 0, 0.8, 0])?.anomaly)
        let anomaly = AnomalyMark(
            score: expected.score, threshold: expected.threshold, p: expected.p, isAnomaly: expected.isAnomaly)
        #expect(result.taught?.anomaly == anomaly && anomaly.threshold == 0.0003 && anomaly.isAnomaly == false)
        #expect(result.classifications.map(\.label) == ["normal"] && result.taught?.isKnown == true)
        for (text, other, reason) in [
            ("\"0.4\"", "\"0.9\"", "expected 0.0001 to 0.5"),
            ("\"labels\":\"normal\"", "\"labels\":\"abnorm\"", "there is only \"normal\""),
        ] {
            var bytes = bytes
            let place = try #require(bytes.firstRange(of: Array(text.utf8)))
            bytes.replaceSubrange(place, with: Array(other.utf8))
            let found = try await Self.problems(bytes)
            #expect(found.contains { $0.hasPrefix("outputs[0].taught") && $0.contains(reason) }, "\(found)")
        }
    }

    /// A head that is not part of the bundle, as with classes taught to a daemon.
    @Test("an embedding model classifies with a taught head that comes with the request")
    func aModelOfEmbeddingsAnswersWithTheClassesOfAnother() async throws {
        let heads = try Self.heads()
        let model = try await Self.load(TaughtFile.bytes(of: heads[0])).get()
        let expected = try #require(heads[3].answer([0.6, 0, 0.8, 0]))
        let result = try await model.classification(of: Self.picture(), top: 3, head: heads[3])
        #expect(result.taught?.distance == expected.distance)
        #expect(result.classifications.map(\.confidence) == expected.confidences.sorted(by: >))
    }

    @Test("a classification by taught classes fails where the embedding has a NaN")
    func embeddingsThatCannotBeAnsweredAreErrors() async throws {
        let head = try Self.heads()[0]
        let model = try await Self.load(TaughtFile.bytes(of: head), answer: [.nan, 0, 1, 0]).get()
        let error = await #expect(throws: InferenceError.self) {
            try await model.classification(of: Self.picture(), top: 1)
        }
        guard case .invalidOutput? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    private static func problems(
        _ file: [UInt8], _ more: String = "", shape: Shape = [1, 4]
    ) async throws -> [String] {
        switch try await load(file, more, shape: shape) {
        case .success: return []
        case .failure(.invalidBundle(_, let problems)): return problems.map(\.description)
        case .failure(let error): return ["another error: \(error.message)"]
        }
    }

    @Test("a taught file or key that does not fit is reported with the reason")
    func filesAndKeysThatDoNotFitAreNamed() async throws {
        let head = try Self.heads()[0], bytes = TaughtFile.bytes(of: head)
        func expect(_ words: String, _ found: [String]) {
            #expect(found.contains { $0.hasPrefix("outputs[0].") && $0.contains(words) }, "\(found)")
        }
        expect("taught: \"t.safetensors\" is not a safetensors file", try await Self.problems([1, 2, 3]))
        expect("labels: ", try await Self.problems(bytes, #", "labels": "labels.txt""#))
        expect("scale: is for \"classes\"", try await Self.problems(bytes, #", "scale": 10"#))
        expect("classes: ", try await Self.problems(bytes, #", "classes": "t.safetensors""#))
        expect(
            "name: the model file's tensor \"vector\" does not fit: expected 4 numbers, as \"taught\" has",
            try await Self.problems(bytes, shape: [1, 3]))
        func changed(_ text: String, _ other: String) throws -> [UInt8] {
            var bytes = bytes
            let place = try #require(bytes.firstRange(of: Array(text.utf8)))
            #expect(text.utf8.count == other.utf8.count)
            bytes.replaceSubrange(place, with: Array(other.utf8))
            return bytes
        }
        expect(
            "has no format \"ocelli taught 1\"", try await Self.problems(changed("ocelli taught 1", "ocelli taught 2")))
        expect("the unknown method \"nearest_mode\"", try await Self.problems(changed("nearest_mean", "nearest_mode")))
        expect(
            "\"means\" of the shape [4, 3]: expected [3, 4]",
            try await Self.problems(changed("\"shape\":[3,4]", "\"shape\":[4,3]")))
        expect("a label has no control characters", try await Self.problems(changed("bolt", #"b\rt"#)))
        let twice = try #require(
            TaughtClassifier(
                method: .nearestMean, labels: ["nut", "nut"], dimension: 1, center: [0], means: [1, -1], weights: [],
                intercepts: [], examples: [], exampleClasses: [], threshold: nil))
        expect("has the label \"nut\" twice", try await Self.problems(TaughtFile.bytes(of: twice)))
    }

    /// Truncated at every byte, and with a flipped bit in every byte: problems or a model, and no crash.
    @Test("a cut taught file is a problem, and the answers of a damaged taught file are finite")
    func damagedFilesEndInProblems() async throws {
        for head in try Self.heads() where head.threshold != nil {
            let good = TaughtFile.bytes(of: head)
            for length in stride(from: 0, to: good.count, by: 7) {
                let found = try await Self.problems(Array(good.prefix(length)))
                #expect(!found.isEmpty && found.allSatisfy { $0.hasPrefix("outputs[0].taught") }, "\(length): \(found)")
            }
            for place in stride(from: 0, to: good.count, by: 5) {
                var bytes = good
                bytes[place] ^= 1 << UInt8(place % 8)
                guard case .success(let model) = try await Self.load(bytes) else { continue }
                // The numbers of an answer are finite, for any content of the file.
                let result = try await model.classification(of: Self.picture(), top: 1)
                #expect(result.classifications.allSatisfy { $0.confidence.isFinite })
                #expect(result.taught?.distance.isFinite == true)
            }
        }
    }
}
