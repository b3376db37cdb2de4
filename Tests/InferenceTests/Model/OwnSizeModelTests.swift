import Dispatch
import FlowControl
import Foundation
import ImagePipeline
import Inference
import Synchronization
import Testing

/// Pictures of open size: the way a bundle requests them, and the effect of a new size on other requests.
@Suite struct OwnSizeModelTests {
    private static func json(_ input: String = "", shape: String = "[-1, -1, 3]", output: String = "[-1, -1, 3]")
        -> String
    {
        """
        { "name": "own", "id": "own", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
          "inputs": [ { "name": "x", "type": "image", "shape": \(shape), "format": "RGB"\(input) } ],
          "outputs": [ { "name": "y", "type": "image", "shape": \(output), "format": "RGB" } ] }
        """
    }

    private static func engine(
        _ input: Shape = [1, -1, -1, 3], output: Shape = [1, -1, -1, 3],
        onCheck: @escaping @Sendable ([Int: Shape]) -> String? = { _ in nil }
    ) -> FakeEngine {
        FakeEngine(
            inputs: [TensorPort(name: "x", elementType: .uint8, shape: input)],
            outputs: [TensorPort(name: "y", elementType: .uint8, shape: output)], onCheck: onCheck)
    }

    private func problems(_ json: String, _ engine: FakeEngine = Self.engine()) async throws -> [String] {
        try await engine.problems(of: ["model.json": json, "m.onnx": ""])
    }

    @Test("a bundle may leave one or both sides of an image open, with limits in open_size")
    func whatABundleMaySay() async throws {
        for input in [
            "", ", \"open_size\": {}", ", \"open_size\": { \"minimum\": 16, \"maximum\": [480, 640], \"multiple\": 8 }",
            ", \"open_size\": { \"multiple\": [8, 16] }, \"crop_and_scale\": \"center\"",
        ] {
            #expect(try await problems(Self.json(input)) == [], "\(input)")
        }
        // Only one open side.
        #expect(
            try await problems(Self.json(shape: "[64, -1, 3]"), Self.engine([1, 64, -1, 3])) == [])
        #expect(try await problems(Self.json(shape: "[64, -1, 3]")) == [])
    }

    @Test(
        "mistakes in open_size and in open shapes are reported with their paths",
        arguments: [
            (
                ", \"open_size\": { \"multiple\": 33, \"minimum\": 34, \"maximum\": 60 }", "[-1, -1, 3]",
                "inputs[0].open_size: no multiple"
            ),
            (
                ", \"open_size\": { \"maximum\": 0 }", "[-1, -1, 3]",
                "inputs[0].open_size.maximum: expected a number from 1"
            ),
            (", \"open_size\": { \"minimum\": [1, 2, 3] }", "[-1, -1, 3]", "inputs[0].open_size.minimum: expected"),
            (", \"open_size\": { \"step\": 8 }", "[-1, -1, 3]", "inputs[0].open_size.step"),
            (
                ", \"open_size\": { \"multiple\": 8 }", "[64, 64, 3]",
                "inputs[0].open_size: is for a shape whose height or width is -1"
            ),
            (
                ", \"crop_and_scale\": \"center\", \"resize_shorter_side\": 64", "[-1, -1, 3]",
                "inputs[0].resize_shorter_side: is for a shape without -1"
            ),
            ("", "[-1, -1, -1]", "inputs[0].shape: expected [height, width, channels]"),
            ("", "[-1, -1, 1]", "inputs[0].shape: has 1 channels"),
            ("", "[-2, -1, 3]", "inputs[0].shape[0]: expected a positive integer"),
        ])
    func mistakesAreNamed(_ input: String, _ shape: String, _ words: String) async throws {
        let found = try await problems(Self.json(input, shape: shape))
        #expect(found.contains { $0.contains(words) }, "\(found)")
    }

    @Test("an open side is refused where the model file fixes the side or the layout, and with a batch")
    func aSideThatTheFileFixes_isNotOpen() async throws {
        let fixed = try await problems(Self.json(), Self.engine([1, 64, 64, 3]))
        #expect(fixed.contains { $0.contains("leaves a side open") && $0.contains("[1,64,64,3]") }, "\(fixed)")
        let other = try await problems(Self.json(), Self.engine([1, 3, -1, -1]))
        #expect(other.contains { $0.contains("inputs[0].shape") }, "\(other)")
        let output = try await problems(Self.json(), Self.engine(output: [1, 3, -1, -1]))
        #expect(output.contains { $0.contains("outputs[0].shape") && $0.contains("NHWC") }, "\(output)")
        let batch = try await problems(
            Self.json().replacingOccurrences(of: "\"model\":", with: "\"runtime\": { \"batch\": 4 }, \"model\":"))
        #expect(batch.contains { $0.contains("runtime.batch") }, "\(batch)")
    }

    private static func picture(_ width: Int, _ height: Int) throws -> EncodedImage {
        try [UInt8](repeating: 90, count: width * height * 3).withUnsafeBytes {
            EncodedImage(try PNGEncoder.encode(width: width, height: height, channels: 3, pixels: $0))
        }
    }

    /// The widths of the checked shapes.
    private final class Tries: Sendable {
        let tried = Mutex<[Int]>([])
        let gate = DispatchSemaphore(value: 0)
    }

    @Test(
        "one new picture size is tried at a time, and pictures of known sizes are answered meanwhile",
        .timeLimit(.minutes(2)))
    func aSizeThatWasNotSeen_stopsNobodyElse() async throws {
        let tries = Tries()
        let engine = Self.engine(output: [1, 16]) { shapes in
            let width = shapes[0]?.dimensions[2] ?? 0
            tries.tried.withLock { $0.append(width) }
            if width > 100 { tries.gate.wait() }
            return width == 13 ? "thirteen columns" : nil
        }
        let folder = try TemporaryFolder()
        let output = "\"outputs\": [ { \"name\": \"y\", \"type\": \"array\", \"shape\": [16] } ]"
        let whole = Self.json()
        let json = whole[..<(whole.range(of: "\"outputs\"")?.lowerBound ?? whole.endIndex)] + output + " }"
        let path = try folder.write(["model.json": String(json), "m.onnx": ""])
        var configuration = ModelConfiguration()
        configuration.engine = engine
        configuration.maxInFlight = 16
        let model = try await Model.load(contentsOf: path, configuration: configuration)
        func predict(_ width: Int) async throws {
            _ = try await model.prediction(from: ["x": .image(try Self.picture(width, 4))] as DictionaryFeatureProvider)
        }
        try await predict(8)
        let waiting = (0..<6).map { number in Task { try await predict(200 + number) } }
        while tries.tried.withLock({ !$0.contains { $0 >= 200 } }) { try await Task.sleep(for: .milliseconds(5)) }
        // While one size is being checked, requests with known sizes continue, and these are not checked again.
        for _ in 0..<20 { try await predict(8) }
        #expect(tries.tried.withLock { $0.filter { $0 >= 200 } }.count == 1)
        #expect(tries.tried.withLock { $0.filter { $0 == 8 } }.count == 1)
        for _ in 0..<6 { tries.gate.signal() }
        for task in waiting { try await task.value }
        #expect(tries.tried.withLock { Set($0) } == Set([8] + (200..<206)))
        // A size that the model does not accept is the caller's mistake.
        let error = await #expect(throws: InferenceError.self) { try await predict(13) }
        guard case .invalidInput(name: "x", let reason)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("[1,4,13,3]") && reason.contains("thirteen columns"), "\(reason)")
        #expect(model.limiter.snapshot.inFlight == 0)
    }
}
