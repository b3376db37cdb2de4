import Foundation
import ImagePipeline

/// `fuzz [count=N] [seed=S] [truncations=yes] [raw=N] FILE...`: decodes `count` damaged copies of the files in turn,
/// with `truncations` each file truncated at every 64th of its length, and with `raw` raw frames of random layouts.
/// Every result other than a picture or an error within a second is a failure.
enum FuzzCommand {
    static func run(_ arguments: [String]) throws {
        let options = Options(arguments)
        let files = try options.files.map { [UInt8](try Data(contentsOf: URL(fileURLWithPath: $0))) }
        let seed = UInt64(options.integer("seed", 1))
        let pipelines = try specs.flatMap { spec in
            try [false, true].map { tolerant in
                try ImagePipeline(
                    spec: spec, limits: ImageLimits(maxBytes: 64 << 20, tolerateTruncation: tolerant))
            }
        }
        var run = FuzzRun(pipelines: pipelines)
        var mutator = Mutator(seed: seed)
        if options.values["truncations"] == "yes" {
            for file in files {
                for part in 0..<64 { run.run(Array(file.prefix(file.count * part / 64)), pick: part) }
            }
        }
        for round in 0..<options.integer("count", 0) where !files.isEmpty {
            var bytes = mutator.mutate(files[round % files.count])
            if mutator.below(4) > 0 { Mutator.repairChecksums(&bytes) }
            run.run(bytes, pick: mutator.below(1 << 20))
        }
        for _ in 0..<options.integer("raw", 0) { run.runFrame(&mutator) }
        print(
            "seed \(seed): \(run.pictures) pictures, \(run.errors) errors (\(run.summary)), slowest "
                + "\(run.slowest / 1000) ms")
        // Ten seconds of CPU time count as a hang on any machine, even with a sanitizer.
        if run.slowest > 10_000_000 { throw FuzzFailure.tooSlow }
    }

    private static var specs: [ImageTensorSpec] {
        [
            ImageTensorSpec(width: 224, height: 224),
            ImageTensorSpec(
                width: 33, height: 20, channelOrder: .bgr, layout: .nchw, element: .float32, cropAndScale: .scaleFit),
            ImageTensorSpec(
                width: 28, height: 28, channelOrder: .gray, element: .float16, cropAndScale: .scaleFill,
                resampler: .bicubic),
            ImageTensorSpec(width: 24, height: 24, resampler: .nearest, resizeShorterSide: 40, decodeMargin: 1),
        ]
    }
}

enum FuzzFailure: Error {
    case tooSlow
}

/// Runs single inputs and counts their results.
struct FuzzRun {
    let pipelines: [ImagePipeline]
    private let input = GuardedBuffer(capacity: 4 << 20)
    private let output = GuardedBuffer(capacity: 1 << 20)
    private(set) var pictures = 0
    private(set) var errors = 0
    private(set) var slowest = 0.0
    private var labels: [String: Int] = [:]

    init(pipelines: [ImagePipeline]) { self.pipelines = pipelines }

    var summary: String {
        labels.sorted { $0.value > $1.value }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    /// Reads a raw frame of a random layout; of four, one has a length that may not fit.
    mutating func runFrame(_ mutator: inout Mutator) {
        let format = RawFrame.Format.allCases[mutator.below(RawFrame.Format.allCases.count)]
        let width = mutator.below(90), height = mutator.below(40), pick = mutator.below(1 << 20)
        let stride = mutator.below(2) == 0 ? nil : mutator.below(500)
        do throws(ImageError) {
            let frame = try RawFrame(
                format, width: width, height: height, stride: stride,
                colorimetry: mutator.below(2) == 0 ? .bt601 : .bt709)
            let due = frame.byteCounts
            let count = mutator.below(4) == 0 ? mutator.below(20_000) : due.lowerBound + mutator.below(due.count)
            run((0..<count).map { _ in UInt8(mutator.below(256)) }, frame: frame, pick: pick)
        } catch {
            errors += 1
            labels[error.label, default: 0] += 1
        }
    }

    mutating func run(_ bytes: [UInt8], frame: RawFrame? = nil, pick: Int) {
        let pipeline = pipelines[pick % pipelines.count]
        let options = ImageDecodeOptions(
            cropAndScale: [nil, .centerCrop, .scaleFit, .scaleFill][pick / 8 % 4],
            orientation: ImageOrientation.allCases[pick / 32 % ImageOrientation.allCases.count],
            fullDecode: pick / 128 % 2 == 0)
        let place = input.end(bytes.count)
        place.copyBytes(from: bytes)
        let start = BenchCommand.cpuMicroseconds()
        do throws(ImageError) {
            _ = try pipeline.prepare(
                UnsafeRawBufferPointer(place), frame: frame, into: output.end(pipeline.spec.byteCount), options: options
            )
            pictures += 1
        } catch {
            errors += 1
            labels[error.label, default: 0] += 1
        }
        let took = BenchCommand.cpuMicroseconds() - start
        slowest = max(slowest, took)
    }
}
