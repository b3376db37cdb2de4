import CJPEG
import Foundation
import ImagePipeline

/// `bench [option=value ...] [rounds=N] [frame=FORMAT:WIDTHxHEIGHT] FILE...`: prints a line of JSON for each file, with
/// the median CPU microseconds of the whole pipeline and of only libjpeg-turbo at the same scale and region, and the
/// peak of resident memory. With `frame` the files are raw frames.
enum BenchCommand {
    static func run(_ arguments: [String]) throws {
        let options = Options(arguments)
        let pipeline = try ImagePipeline(spec: options.spec)
        let rounds = options.integer("rounds", 50)
        let frame = try options.values["frame"].map(frame)
        for file in options.files {
            let picture = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
            var tensor = [UInt8](repeating: 0, count: pipeline.spec.byteCount)
            let prepare = {
                _ = try picture.withUnsafeBytes { bytes in
                    try tensor.withUnsafeMutableBytes { destination in
                        try pipeline.prepare(bytes, frame: frame, into: destination, options: options.decoding)
                    }
                }
            }
            let peak = try peakKilobytes(prepare)
            var bodies = [prepare]
            var names = ["us"]
            var scale = 8
            if frame == nil, picture.first == 0xFF {
                let outline = try picture.withUnsafeBytes { try pipeline.outline($0, options: options.decoding) }
                scale = outline.scale
                bodies.append { try decodeOnly(picture, outline, cropped: true) }
                bodies.append { try decodeOnly(picture, outline, cropped: false) }
                names += ["floor_us", "floor_whole_us"]
            }
            var fields = zip(names, try medians(rounds, bodies)).map { "\"\($0)\": \($1)" }
            fields += ["\"peak_kb\": \(peak)", "\"scale\": \(scale)"]
            print("{\(fields.joined(separator: ", "))}")
        }
    }

    /// A layout as text, such as `BGRA:1280x720`.
    private static func frame(_ text: String) throws -> RawFrame {
        let parts = text.split(separator: ":"), sides = parts.last?.split(separator: "x").compactMap { Int($0) } ?? []
        guard parts.count == 2, sides.count == 2, let format = RawFrame.Format(rawValue: String(parts[0])) else {
            throw ImageError.unsupportedFrame(text)
        }
        return try RawFrame(format, width: sides[0], height: sides[1])
    }

    /// Decodes with libjpeg-turbo only: rows into one buffer that is reused.
    private static func decodeOnly(_ picture: [UInt8], _ outline: DecodeOutline, cropped: Bool) throws {
        guard let decoder = cjpeg_create() else { throw ImageError.outOfMemory }
        defer { cjpeg_destroy(decoder) }
        var header = cjpeg_header()
        try picture.withUnsafeBufferPointer { bytes in
            var status = cjpeg_open(decoder, bytes.baseAddress, bytes.count, 0, &header)
            var width: UInt32 = 0
            var height: UInt32 = 0
            if status == CJPEG_OK {
                status = cjpeg_start(
                    decoder, UInt32(outline.scale), header.components == 1 ? CJPEG_GRAY : CJPEG_RGBX,
                    cropped ? UInt32(outline.x.upperBound) : .max, 100, nil, nil, &width, &height)
            }
            var rows = height
            if status == CJPEG_OK, cropped {
                var x = UInt32(outline.x.lowerBound)
                var count = UInt32(outline.x.count)
                if count < width { status = cjpeg_crop(decoder, &x, &count) }
                if status == CJPEG_OK, outline.y.lowerBound > 0 {
                    status = cjpeg_skip(decoder, UInt32(outline.y.lowerBound))
                }
                rows = UInt32(outline.y.count)
            }
            let stride = (Int(width) * 4 + 63) & ~63
            let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: stride * 8 + 128)
            defer { buffer.deallocate() }
            // Not aligned: otherwise libjpeg-turbo would write past the caches, which costs more time than it saves
            // here.
            let base = buffer + ((4 - Int(bitPattern: buffer)) & 63)
            while status == CJPEG_OK, rows > 0 {
                let batch = min(8, rows)
                status = cjpeg_read(decoder, base, stride, batch)
                rows -= batch
            }
            guard status == CJPEG_OK else { throw ImageError.corrupt(String(cString: cjpeg_message(decoder))) }
        }
    }

    /// The median CPU time of each body. They take turns, so that a change of the machine's speed affects all.
    private static func medians(_ rounds: Int, _ bodies: [() throws -> Void]) throws -> [Double] {
        var times = [[Double]](repeating: [], count: bodies.count)
        for round in 0..<rounds + 2 {
            for (index, body) in bodies.enumerated() {
                let start = cpuMicroseconds()
                try body()
                if round >= 2 { times[index].append(cpuMicroseconds() - start) }
            }
        }
        return times.map { $0.sorted()[$0.count / 2] }
    }

    /// The CPU time of this thread in microseconds, which does not depend on the load of the machine.
    static func cpuMicroseconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    /// The peak of resident memory during `body`, in kilobytes above the initial value.
    private static func peakKilobytes(_ body: () throws -> Void) rethrows -> Int {
        // Writing 5 resets the high-water mark to the current value (proc(5)).
        try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
        let before = status("VmRSS:")
        try body()
        return status("VmHWM:") - before
    }

    private static func status(_ name: String) -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.split(separator: " ").compactMap { Int($0) }.first ?? 0
    }
}
