import CoreMLImport
import Glibc

// Runs the importer without an engine and without a server: for Tests/Parity/check-coreml-networks and scripts/fuzz
// coreml.
//
// usage: coremlprobe translate FILE OUT       writes OUT.xml and OUT.bin, and prints milliseconds and peak memory
//        coremlprobe fuzz SEED COUNT FILE...  translates COUNT damaged copies of the files
// FILE is a .mlmodel with a network or a program, or the folder of a .mlpackage.

@main
enum CoreMLProbe {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "translate" where arguments.count == 3: translate(arguments[1], to: arguments[2])
        case "fuzz" where arguments.count > 3:
            guard let seed = UInt64(arguments[1]), let count = Int(arguments[2]) else { fallthrough }
            fuzz(seed: seed, count: count, files: Array(arguments.dropFirst(3)))
        default: fail("usage: coremlprobe translate FILE OUT | coremlprobe fuzz SEED COUNT FILE...")
        }
    }

    /// A model file, and the weights next to it.
    private struct Model {
        var file: [UInt8]
        var weights: [UInt8]?
    }

    private static let weightsPath = "weights/weight.bin"

    private static func read(_ path: String) -> (file: Bytes, weights: Bytes?) {
        guard path.hasSuffix(".mlpackage") else { return (map(path), nil) }
        let folder = path + "/Data/com.apple.CoreML/"
        let weights = folder + weightsPath
        return (map(folder + "model.mlmodel"), access(weights, R_OK) == 0 ? map(weights) : nil)
    }

    /// The graphs of a file: one, or several of a pipeline. Throws `Problem` or `ImportError`.
    private static func graphs(_ file: Bytes, weights: Bytes?) throws -> [Graph] {
        let files = WeightFiles(weights.map { [weightsPath: $0] } ?? [:])
        return try ModelSteps(ModelSpecification(file)).graphs.map { step in
            let model = step.specification
            return model.type == .mlProgram
                ? try ProgramTranslator(model.description, files: files).translate(model.reader).graph
                : try NetworkTranslator.translate(
                    NeuralNetwork(model.reader), model.description, takesSequences: true
                ).graph
        }
    }

    private static func translate(_ path: String, to output: String) {
        let (file, weights) = read(path)
        let start = now()
        do {
            guard let graph = try graphs(file, weights: weights).first else { fail("\(path) holds no graph") }
            let writer = IRWriter(graph)
            let xml = writer.xml()
            let constants = writer.weights()
            let milliseconds = (now() - start) * 1000
            write(Bytes(xml), to: output + ".xml")
            write(constants, to: output + ".bin")
            let size = file.count + (weights?.count ?? 0)
            print(
                "translated in \(Int(milliseconds)) ms; file \(size) bytes, weights \(constants.count) bytes,",
                "peak \(peakMemory()) bytes")
        } catch {
            fail("\(path): \(error)")
        }
    }

    /// Translates damaged files: every outcome but a crash is fine. Prints the slowest translation.
    private static func fuzz(seed: UInt64, count: Int, files: [String]) {
        var random = SplitMix(state: seed)
        let originals = files.map { path in
            let (file, weights) = read(path)
            return Model(file: file.elements(), weights: weights?.elements())
        }
        var (translated, slowest, slowestIndex) = (0, 0.0, 0)
        for index in 0..<count {
            var model = originals[Int(random.next() % UInt64(originals.count))]
            if var weights = model.weights, random.next() % 4 == 0 {
                mutate(&weights, &random)
                model.weights = weights
            } else {
                for _ in 0..<(1 + random.next() % 4) { mutate(&model.file, &random) }
            }
            // CPU time, which excludes other load of the machine.
            let start = now(CLOCK_PROCESS_CPUTIME_ID)
            if attempt(model) { translated += 1 }
            let seconds = now(CLOCK_PROCESS_CPUTIME_ID) - start
            if seconds > slowest { (slowest, slowestIndex) = (seconds, index) }
        }
        print(
            "seed \(seed): \(count) damaged files, \(translated) of them translated; the slowest, number \(slowestIndex), took",
            "\(Int(slowest * 1000)) ms of processor time; peak \(peakMemory()) bytes")
    }

    private static func attempt(_ model: Model) -> Bool {
        guard let graphs = try? graphs(Bytes(model.file), weights: model.weights.map { Bytes($0) }) else {
            return false
        }
        return graphs.allSatisfy { graph in
            // Write it like large networks, in pieces.
            for writer in [IRWriter(graph), IRWriter(graph.folded())] {
                var written = 0
                writer.writeWeights { offset, bytes in written = max(written, offset + bytes.count) }
                if writer.xml().isEmpty || writer.weightsSize < written { fail("weights of \(written) bytes") }
            }
            return true
        }
    }

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SplitMix) {
        guard !bytes.isEmpty else { return }
        let place = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 6 {
        case 0: bytes[place] ^= 1 << UInt8(random.next() % 8)
        case 1: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 2: bytes.removeLast(bytes.count - place)
        case 3: bytes.remove(at: place)
        case 4: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
        default:
            // A large varint in place of a small one.
            let huge: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]
            bytes.replaceSubrange(place..<place + 1, with: huge.suffix(Int(1 + random.next() % 9)))
        }
    }

    private struct SplitMix {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    // MARK: The system

    private static func map(_ path: String) -> Bytes {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { fail("\(path) cannot be opened") }
        defer { close(descriptor) }
        let size = Int(lseek(descriptor, 0, SEEK_END))
        guard size > 0, let memory = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0), memory != MAP_FAILED else {
            fail("\(path) cannot be mapped")
        }
        return Bytes(lending: UnsafeRawBufferPointer(start: memory, count: size)) {
            munmap(UnsafeMutableRawPointer(mutating: $0.baseAddress), $0.count)
        }
    }

    private static func write(_ bytes: Bytes, to path: String) {
        guard let file = fopen(path, "w") else { fail("\(path) cannot be written") }
        defer { fclose(file) }
        guard bytes.withUnsafeBytes({ fwrite($0.baseAddress, 1, $0.count, file) }) == bytes.count else {
            fail("\(path) cannot be written")
        }
    }

    private static func now(_ clock: clockid_t = CLOCK_MONOTONIC) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The peak resident memory. (`getrusage` would include the program that started this one.)
    private static func peakMemory() -> Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard text.hasPrefix("VmHWM:") else { continue }
            return (Int(text.split { !$0.isNumber }.first ?? "") ?? 0) * 1024
        }
        return 0
    }

    private static func fail(_ message: String) -> Never {
        print(message)
        exit(1)
    }
}
