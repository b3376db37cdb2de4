import ConfinedDecoding
import Foundation
import ImagePipeline
import TestSupport
import Testing

/// The helper program of Tests/CodecProbe, in the folder of the tests.
enum Probe {
    static let program: String = {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        // Under `swift test` the process is SwiftPM's, with the bundle in its arguments.
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? own
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("codecprobe").path
    }()

    static func decoder(hostile: Bool = false, seconds: Int = 60) -> ConfinedDecoder {
        ConfinedDecoder(program: program, arguments: ["codecprobe"] + (hostile ? ["hostile"] : []), seconds: seconds)
    }

    /// The number of entries of a folder in /proc.
    static func count(_ folder: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: folder).count
    }

    /// The children of this process, except ended ones that it has not reaped.
    static func helpers() throws -> Set<Int32> {
        var found: Set<Int32> = []
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            guard let process = Int32(name),
                let text = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8),
                let fields = text.split(separator: ")").last?.split(separator: " "), fields.count > 1
            else { continue }
            if fields[1] == "\(getpid())", fields[0] != "Z", text.contains("codecprobe") { found.insert(process) }
        }
        return found
    }
}

extension ImagePipeline {
    /// The red, green and blue of all pixels, from the upper left, of an upright picture.
    static func pixels(
        _ width: Int, _ height: Int, _ prepare: (ImagePipeline, UnsafeMutableRawBufferPointer) throws -> ImageInfo
    ) throws -> [UInt8] {
        let pipeline = try ImagePipeline(
            spec: ImageTensorSpec(width: width, height: height, cropAndScale: .scaleFill))
        var pixels = [UInt8](repeating: 0xA5, count: pipeline.spec.byteCount)
        _ = try pixels.withUnsafeMutableBytes { try prepare(pipeline, $0) }
        return pixels
    }
}

extension ConfinedDecoder {
    /// The pixels of a file.
    func pixels(_ file: [UInt8], format: ImageFormat) throws -> [UInt8] {
        let image = try decode(file, format: format)
        return try ImagePipeline.pixels(image.info.width, image.info.height) { try $0.prepare(image, into: $1) }
    }

    /// As in the daemon, the size is checked before decoding.
    private static let check = try? ImagePipeline(
        spec: ImageTensorSpec(width: 1, height: 1), limits: ImageLimits(maxPixels: 4_000_000))

    /// Decodes a picture, from header to pixels.
    func decode(
        _ bytes: [UInt8], format: ImageFormat, page: Int = 0, isCancelled: @escaping () -> Bool = { false }
    ) throws(ImageError) -> PixelImage {
        let result = bytes.withUnsafeBytes { bytes -> Result<PixelImage, ImageError> in
            Result { () throws(ImageError) in
                let picture = try open(bytes, format: format, page: page, isCancelled: isCancelled)
                try Self.check?.check(picture.info)
                return try picture.decode(isCancelled: isCancelled)
            }
        }
        return try result.get()
    }
}
