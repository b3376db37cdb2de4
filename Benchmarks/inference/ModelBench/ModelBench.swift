import FlowControl
import Foundation
import Inference
import SystemSupport

/// Measures `Model` in process; the scripts of Benchmarks/inference call it.
///
///     modelbench serial MODEL ROUNDS PICTURE...       serial and concurrent rounds on the pictures, alternating
///     modelbench memory MODEL LIMIT COUNT PICTURE...  the peak of memory while COUNT pictures are predicted; LIMIT 0: none
///     modelbench rounds MODEL SECONDS                 a round of predictions for each line of standard input
///     modelbench answers MODEL PICTURE...             a prediction for each line of standard input: a number and a picture's index
///     modelbench batch MODEL ROUNDS                   batches of 1 to 16 in one inference, compared with concurrent singles
///
/// Models run as the daemon runs them by default: the throughput hint, f32, a thread and a stream for each processor.
@main
enum ModelBench {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let mode = arguments.first, arguments.count >= 3 else {
            FileHandle.standardError.write(
                Data("usage: modelbench serial|memory|rounds|answers|batch MODEL ...\n".utf8))
            exit(2)
        }
        let path = arguments[1]
        switch mode {
        case "serial": try await serial(path, rounds: Int(arguments[2]) ?? 5, pictures: Array(arguments.dropFirst(3)))
        case "memory":
            try await memory(
                path, limit: Int(arguments[2]) ?? 0, count: Int(arguments[3]) ?? 500,
                pictures: Array(arguments.dropFirst(4)))
        case "rounds": try await rounds(path, seconds: Double(arguments[2]) ?? 3)
        case "answers": try await answers(path, pictures: Array(arguments.dropFirst(2)))
        case "batch": try await batch(path, rounds: Int(arguments[2]) ?? 20)
        default: exit(2)
        }
    }

    /// The daemon's own defaults on this machine.
    static func configuration() -> ModelConfiguration {
        let sizing = Sizing(HostResources())
        var configuration = ModelConfiguration()
        configuration.compile.hint = .throughput
        configuration.compile.precision = .float32
        configuration.compile.threads = sizing.inferenceThreads.value
        configuration.compile.streams = sizing.streams.value
        configuration.queueCapacity = 100_000
        configuration.maxWait = .seconds(3600)
        return configuration
    }

    static func load(_ paths: [String]) throws -> [EncodedImage] {
        try paths.map { EncodedImage([UInt8](try Data(contentsOf: URL(fileURLWithPath: $0)))) }
    }

    static func seconds(_ work: () async throws -> Void) async rethrows -> Double {
        let start = MonotonicInstant.now
        try await work()
        return Double(MonotonicInstant.now.nanoseconds(since: start)) / 1e9
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
    }

    // MARK: Serial and concurrent

    static func serial(_ path: String, rounds: Int, pictures: [String]) async throws {
        let model = try await Model.load(contentsOf: path, configuration: configuration())
        let images = try load(pictures)
        var one: [Double] = [], all: [Double] = []
        for round in 0...rounds {
            let serial = try await seconds {
                for image in images { _ = try await model.classification(of: image, top: 5) }
            }
            let concurrent = try await seconds {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for image in images { group.addTask { _ = try await model.classification(of: image, top: 5) } }
                    try await group.waitForAll()
                }
            }
            // The first round warms caches up.
            if round > 0 {
                one.append(serial)
                all.append(concurrent)
            }
        }
        let ratios = zip(one, all).map { $0 / $1 }
        print(
            "{\"pictures\": \(images.count), \"rounds\": \(rounds), \"instances\": \(model.instances), "
                + "\"serial_ms\": \(1e3 * median(one)), \"concurrent_ms\": \(1e3 * median(all)), "
                + "\"ratio\": \(median(ratios)), \"ratio_least\": \(ratios.min() ?? 0), \"ratio_most\": \(ratios.max() ?? 0)}"
        )
    }

    // MARK: Memory

    static func memory(_ path: String, limit: Int, count: Int, pictures: [String]) async throws {
        var configuration = configuration()
        // Without a limit there are as many slots as pictures: all are decoded at once.
        configuration.maxInFlight = limit > 0 ? limit : count
        configuration.instances = 2
        let model = try await Model.load(contentsOf: path, configuration: configuration)
        let images = try load(pictures)
        let before = status("VmRSS")
        let time = try await seconds {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<count {
                    let image = images[index % images.count]
                    group.addTask { _ = try await model.classification(of: image, top: 5) }
                }
                try await group.waitForAll()
            }
        }
        print(
            "{\"limit\": \(limit), \"pictures\": \(count), \"seconds\": \(time), \"before_mib\": \(before / 1024), "
                + "\"peak_mib\": \(status("VmHWM") / 1024)}")
    }

    /// KiB, from /proc/self/status.
    static func status(_ field: String) -> Double {
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix(field + ":") })
        else { return 0 }
        return Double(line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first ?? "") ?? 0
    }

    // MARK: Throughput, in turns with another program

    static func rounds(_ path: String, seconds time: Double) async throws {
        let model = try await Model.load(contentsOf: path, configuration: configuration())
        let features = try zeros(for: model)
        print("{\"instances\": \(model.instances), \"slots\": \(model.limiter.snapshot.limit)}")
        fflush(nil)
        while readLine() != nil {
            let start = MonotonicInstant.now, end = start + .milliseconds(Int(time * 1e3))
            let count = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<model.limiter.snapshot.limit {
                    group.addTask {
                        var count = 0
                        while MonotonicInstant.now < end {
                            _ = try await model.prediction(from: features, slot: nil)
                            count += 1
                        }
                        return count
                    }
                }
                return try await group.reduce(0, +)
            }
            print(Double(count) * 1e9 / Double(MonotonicInstant.now.nanoseconds(since: start)))
            fflush(nil)
        }
    }

    // MARK: Answers, for a load generator

    /// Writes "ready", and the number and a status for each line, in the order in which they end. Benchmarks/loadgen/client.c does
    /// the same over HTTP. On the main thread, which waits for input: the pool's threads decode.
    @MainActor static func answers(_ path: String, pictures: [String]) async throws {
        let model = try await Model.load(contentsOf: path, configuration: configuration())
        let images = try load(pictures)
        print("ready")
        fflush(nil)
        await withDiscardingTaskGroup { group in
            while let line = readLine() {
                let parts = line.split(separator: " ")
                guard parts.count == 2, let index = Int(parts[1]), images.indices.contains(index) else { continue }
                let (number, image) = (String(parts[0]), images[index])
                group.addTask {
                    let answer = try? await model.classification(of: image, top: 5)
                    let text = Array("\(number) \(answer == nil ? 500 : 200)\n".utf8)
                    // One call: a line this short is written whole.
                    _ = text.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
                }
            }
        }
    }

    static func zeros(for model: Model) throws -> DictionaryFeatureProvider {
        let values = try model.description.inputs.map { input in
            let count = (input.shape.elementCount ?? 0) * input.elementType.byteCount
            let array = try MultiArray(
                elementType: input.elementType, shape: input.shape, bytes: [UInt8](repeating: 0, count: count))
            return (input.name, FeatureValue.multiArray(array))
        }
        return DictionaryFeatureProvider(values)
    }

    // MARK: Batches

    /// The model as it is, and the same bundle with `runtime.batch`, in turns.
    static func batch(_ path: String, rounds: Int) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("modelbench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(atPath: path, toPath: folder.path)
        // A copy may be read-only like its original.
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
        let file = folder.appendingPathComponent("model.json")
        guard var manifest = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any] else {
            return
        }
        var runtime = manifest["runtime"] as? [String: Any] ?? [:]
        runtime["batch"] = 16
        manifest["runtime"] = runtime
        try FileManager.default.removeItem(at: file)
        try JSONSerialization.data(withJSONObject: manifest).write(to: file)
        let single = try await Model.load(contentsOf: path, configuration: configuration())
        let together: Model
        do {
            together = try await Model.load(contentsOf: folder.path, configuration: configuration())
        } catch {
            print(String(decoding: try JSONEncoder().encode(["cannot": "\(error)"]), as: UTF8.self))
            return
        }
        let features = try zeros(for: single)
        for size in [1, 2, 4, 8, 16] {
            let items: [any FeatureProvider] = Array(repeating: features, count: size)
            var times: [[Double]] = [[], []]
            for _ in 0...rounds {
                for (index, model) in [single, together].enumerated() {
                    times[index].append(await seconds { _ = await model.predictions(from: items) })
                }
            }
            let singles = median(Array(times[0].dropFirst())), batched = median(Array(times[1].dropFirst()))
            print(
                "{\"items\": \(size), \"singles_ms\": \(1e3 * singles), \"batch_ms\": \(1e3 * batched), "
                    + "\"ratio\": \(singles / batched)}")
        }
    }
}
