import CoreMLImport
import Glibc

// Runs the importer without an engine and without a server: for scripts/check-coreml-networks and scripts/fuzz-coreml.
//
// usage: coremlprobe translate FILE.mlmodel OUT       writes OUT.xml and OUT.bin, and prints milliseconds and peak memory
//        coremlprobe fuzz SEED COUNT FILE.mlmodel...  translates COUNT damaged copies of the files

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

    private static func translate(_ path: String, to output: String) {
        let file = map(path)
        let start = now()
        do {
            let model = try ModelSpecification(file)
            let network = try NeuralNetwork(model.reader)
            let translated = try NetworkTranslator.translate(network, model.description)
            let writer = IRWriter(translated.graph)
            let xml = writer.xml()
            let weights = writer.weights()
            let milliseconds = (now() - start) * 1000
            write(Bytes(xml), to: output + ".xml")
            write(weights, to: output + ".bin")
            print(
                "translated in \(Int(milliseconds)) ms; file \(file.count) bytes, weights \(weights.count) bytes,",
                "peak \(peakMemory()) bytes")
        } catch {
            fail("\(path): \(error)")
        }
    }

    /// Every outcome but a crash is good; the slowest translation is printed.
    private static func fuzz(seed: UInt64, count: Int, files: [String]) {
        var random = SplitMix(state: seed)
        let originals = files.map { map($0).elements(UInt8.self) }
        var (translated, slowest, slowestIndex) = (0, 0.0, 0)
        for index in 0..<count {
            var bytes = originals[Int(random.next() % UInt64(originals.count))]
            for _ in 0..<(1 + random.next() % 4) { mutate(&bytes, &random) }
            let start = now()
            if attempt(Bytes(bytes)) { translated += 1 }
            let seconds = now() - start
            if seconds > slowest { (slowest, slowestIndex) = (seconds, index) }
        }
        print(
            "seed \(seed): \(count) damaged files, \(translated) of them translated; the slowest, number \(slowestIndex), took",
            "\(Int(slowest * 1000)) ms; peak \(peakMemory()) bytes")
    }

    private static func attempt(_ bytes: Bytes) -> Bool {
        do {
            let model = try ModelSpecification(bytes)
            let network = try NeuralNetwork(model.reader)
            let translated = try NetworkTranslator.translate(network, model.description)
            let writer = IRWriter(translated.graph)
            return !writer.xml().isEmpty && writer.weightsSize > 0
        } catch {
            return false
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
            // A number of many bits where a small one was.
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

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func peakMemory() -> Int {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return usage.ru_maxrss * 1024
    }

    private static func fail(_ message: String) -> Never {
        print(message)
        exit(1)
    }
}
