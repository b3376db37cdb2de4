import Foundation
import ImagePipeline
import TestSupport

/// The pictures made by Tests/FixtureMakers/make-image-goldens.
enum Fixtures {
    static let folder = SharedData.packageRoot.appendingPathComponent("Tests/ImagePipelineTests/Fixtures")

    static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
    }

    /// The names of all pictures.
    static let names: [String] = {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return all.filter(ImageFormat.isPicture).sorted()
    }()

    /// The pictures of Tests/FixtureMakers/make-orientation-goldens, with the orientation that Pillow reads.
    static let orientations: [(String, Int)] = {
        guard let text = try? bytes("orientation/cases.txt") else { return [] }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap {
            let words = $0.split(separator: " ")
            return words.count == 2 ? Int(words[1]).map { (String(words[0]), $0) } : nil
        }
    }()
}

extension ImagePipeline {
    /// The tensor of a picture.
    func tensor(
        _ picture: [UInt8], frame: RawFrame? = nil, options: ImageDecodeOptions = ImageDecodeOptions(),
        isCancelled: () -> Bool = { false }
    ) throws -> [UInt8] {
        // Filled, so that an unwritten element is noticed.
        var tensor = [UInt8](repeating: 0xA5, count: spec.byteCount)
        _ = try picture.withUnsafeBytes { bytes in
            try tensor.withUnsafeMutableBytes { destination in
                try prepare(bytes, frame: frame, into: destination, options: options, isCancelled: isCancelled)
            }
        }
        return tensor
    }
}

extension ImagePipeline {
    /// Probes the header.
    static func probe(_ picture: [UInt8]) throws -> ImageInfo {
        try picture.withUnsafeBytes { try probe($0) }
    }
}
