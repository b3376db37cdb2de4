internal import EngineImporters
import Foundation
import Inference
import TestSupport
import Testing

/// 8-bit weights with zero points, rewritten for integers: the results equal those of TensorFlow Lite, which
/// Tests/FixtureMakers/make-integer-weights-fixtures has recorded.
@Suite struct IntegerWeightsTests {
    struct Case: Decodable {
        struct Sample: Decodable {
            let input: Data
            let output: [Int]
        }
        let shape: [Int]
        let convolutions: Int, awkward: Int
        let samples: [Sample]
    }

    private static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/integer-weights")

    private static func cases() throws -> [String: Case] {
        let text = try Data(contentsOf: folder.appendingPathComponent("cases.json"))
        let json = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
        return try json.filter { $0.key != "mobilenet_v2" }.mapValues {
            try JSONDecoder().decode(Case.self, from: JSONSerialization.data(withJSONObject: $0))
        }
    }

    private static func file(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appendingPathComponent(name + ".tflite")))
    }

    /// The outputs of a model file for some inputs of bytes.
    private static func outputs(_ path: String, rewritten: Bool, inputs: [Data]) throws -> (IntegerWeights?, [[Int]]) {
        var source = ModelSource(path: path)
        source.allowsIntegerWeights = rewritten
        let file = try DefaultEngine.shared().read(source)
        var options = CompileOptions()
        options.threads = 1
        options.streams = 1
        let model = try file.compile(options)
        let request = try model.makeRequest()
        let tensor = try model.makeTensor(elementType: .uint8, shape: model.inputs[0].shape)
        return (
            file.integerWeights,
            try inputs.map { input in
                tensor.bytes.copyBytes(from: input)
                try request.setInput(0, to: tensor)
                let done = DispatchSemaphore(value: 0)
                try request.start { done.signal() }
                done.wait()
                try request.finish()
                return try request.withOutput(0) { _, bytes in bytes.map { Int($0) } }
            }
        )
    }

    @Test(
        "models rewritten to compute in integers give TensorFlow Lite's results, at most one step off",
        .enabled(if: TestProcessor.hasVNNI, "the engine's integer kernels are not exact without VNNI"))
    func resultsAreThoseOfTensorFlowLite() throws {
        for (name, one) in try Self.cases() {
            let path = Self.folder.appendingPathComponent(name + ".tflite").path
            let (weights, outputs) = try Self.outputs(path, rewritten: true, inputs: one.samples.map(\.input))
            #expect((weights != nil) == (name != "centred"), "\(name)")
            var others = 0, all = 0
            for (sample, output) in zip(one.samples, outputs) {
                try #require(output.count == sample.output.count, "\(name)")
                let differences = zip(output, sample.output).map { abs($0 - $1) }
                #expect(differences.allSatisfy { $0 <= 1 }, "\(name): \(differences.max() ?? 0)")
                others += differences.count { $0 != 0 }
                all += differences.count
            }
            #expect(others * 100 <= all, "\(name): \(others) of \(all) values differ")
        }
    }

    /// Copies pass depthwise convolutions, sums, pooling and concatenations; the padding of PAD is not supported, and a
    /// tensor with few channels grows by at most four.
    @Test("every convolution whose input channels can be copied is rewritten to compute in integers")
    func everyLayerWhoseInputCanHaveCopiesIsInIntegers() throws {
        // The sums of the MobileNet would need five more channels than their eight.
        let left = ["padded": 1, "mobilenet": 1]
        for (name, one) in try Self.cases() {
            let report = IntegerWeightsWriter.rewriting(try Self.file(name))?.report
            guard name != "centred" else {
                #expect(report == nil, "its weights are signed already")
                continue
            }
            #expect(report?.convolutions == one.convolutions, "\(name)")
            #expect(report?.inIntegers == one.convolutions - left[name, default: 0], "\(name)")
            #expect(report.map { ($0.copiedChannels > 0) == (name != "silent") } == true, "\(name)")
        }
    }

    /// Weights of channels that are always zero need not fit: depthwise convolutions in which all others fit are in
    /// integers; one with such weights in a channel that is not silent is not. Only channels that are not silent, or
    /// not known to be (a concatenation), are copied.
    @Test("channels that are always zero need no copies for a convolution in integers")
    func silentChannelsNeedNoCopies() throws {
        let silent = try #require(IntegerWeightsWriter.rewriting(try Self.file("silent"))).report
        #expect(silent.depthwiseConvolutions == 3 && silent.depthwiseInIntegers == 2 && silent.copiedChannels == 0)
        let kept = try #require(IntegerWeightsWriter.rewriting(try Self.file("silent_kept"))).report
        #expect(kept.depthwiseConvolutions == 1 && kept.depthwiseInIntegers == 1 && kept.copiedChannels == 2)
        let mobilenet = try #require(IntegerWeightsWriter.rewriting(try Self.file("mobilenet"))).report
        #expect(mobilenet.depthwiseConvolutions == 4 && mobilenet.depthwiseInIntegers == 0)
    }

    @Test("a rewritten file is not rewritten a second time")
    func whatIsRewrittenIsNotRewrittenAgain() throws {
        for name in try Self.cases().keys {
            guard let (file, _) = IntegerWeightsWriter.rewriting(try Self.file(name)) else { continue }
            // Biases are floats now, so no convolution has the supported form.
            #expect(IntegerWeightsWriter.rewriting(file) == nil, "\(name)")
        }
    }

    @Test(
        "real TensorFlow Lite models of other kinds are not rewritten for integers",
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
    func otherModelsStayAsTheyAre() throws {
        let data = try #require(SharedData.folder)
        for name in ["models/cifar10_resnet_int8/model.tflite", "things/movenet.tflite", "things/deeplabv3.tflite"] {
            let file = [UInt8](try Data(contentsOf: data.appendingPathComponent(name)))
            #expect(IntegerWeightsWriter.rewriting(file) == nil, "\(name)")
        }
    }

    /// The pictures are generated by a formula that the script also uses.
    @Test(
        "MobileNet rewritten for integers gives TensorFlow Lite's scores, at most ten steps off",
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)),
        .enabled(if: TestProcessor.hasVNNI, "the engine's integer kernels are not exact without VNNI"))
    func mobileNetIsNearTensorFlowLite() throws {
        let text = try Data(contentsOf: Self.folder.appendingPathComponent("cases.json"))
        let json = try JSONSerialization.jsonObject(with: text) as? [String: Any]
        let expected = try #require(json?["mobilenet_v2"] as? [[String: Int]])
        let pictures = (1...expected.count).map { k in
            var bytes = Data(capacity: 224 * 224 * 3)
            for y in 0..<224 {
                for x in 0..<224 {
                    for c in 0..<3 {
                        bytes.append(UInt8((x * (c + k) + y * (2 * k - c) + x * y / (16 * k)) / 4 % 256))
                    }
                }
            }
            return bytes
        }
        let path = try #require(SharedData.folder).appendingPathComponent(
            "models/mobilenet_v2_1.0_224_quant/model.tflite"
        ).path
        let (weights, outputs) = try Self.outputs(path, rewritten: true, inputs: pictures)
        #expect(weights?.inIntegers == 36)
        for (expected, output) in zip(expected, outputs) {
            let differences = output.enumerated().map { abs($0.element - expected["\($0.offset)", default: 0]) }
            #expect(differences.max() ?? 255 <= 10, "\(differences.max() ?? 255)")
        }
    }

    /// Bytes are changed at random, and files are truncated: the result is a file or nil, never a crash, and at most a
    /// few times as large as the file.
    @Test("rewriting a damaged file neither crashes nor makes the file many times larger")
    func damagedFilesDoNoHarm() throws {
        var random = SplitMix(seed: SplitMix.seed(for: "damagedFilesDoNoHarm"))
        let files = try Self.cases().keys.sorted().map { try Self.file($0) }
        var rewritten = 0
        for _ in 0..<600 {
            var file = files.randomElement(using: &random) ?? []
            if random.chance(10) { file.removeLast(Int.random(in: 0..<file.count, using: &random)) }
            for _ in 0..<Int.random(in: 1...6, using: &random) where !file.isEmpty {
                let place = Int.random(in: 0..<file.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: file[place] = UInt8.random(in: 0...255, using: &random)
                case 1: file[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2: file[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
                default:
                    // Copies a number or an offset from another place.
                    let other = Int.random(in: 0..<file.count, using: &random)
                    for index in 0..<4 where place + index < file.count && other + index < file.count {
                        file[place + index] = file[other + index]
                    }
                }
            }
            guard let (bytes, report) = IntegerWeightsWriter.rewriting(file) else { continue }
            rewritten += 1
            #expect(bytes.count <= 4 * file.count + (1 << 20) + 16)
            #expect(report.inIntegers <= report.convolutions)
            #expect(report.depthwiseInIntegers <= report.depthwiseConvolutions)
        }
        #expect(rewritten > 30, "most of the bytes are weights")
    }
}
