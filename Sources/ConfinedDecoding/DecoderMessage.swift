internal import CConfinedCodecs
internal import ImagePipeline

/// A message of a decoding process. Hostile data may control that process, so all fields are checked or untrusted.
package struct DecoderMessage: Sendable, Equatable {
    /// The kinds of messages.
    package enum Kind: Sendable, Equatable {
        /// The size that the pixels will have.
        case size
        /// All pixels are written; with their actual size.
        case done
        /// The picture cannot be decoded; with the reason.
        case refused(String)
    }

    /// The kind of message.
    package let kind: Kind
    /// The size as stored, and the orientation that must still be applied.
    package let width: Int, height: Int, orientation: Int
    /// True if pixels have opacity.
    package let hasAlpha: Bool
    /// The memory that decoding needs in bytes, without the pixels and the file.
    package let memory: Int

    /// Reads a message; fails for invalid bytes.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == MemoryLayout<ccodec_statement>.size else { return nil }
        let message = bytes.loadUnaligned(as: ccodec_statement.self)
        switch message.kind {
        case CCODEC_SIZE.rawValue: kind = .size
        case CCODEC_DONE.rawValue: kind = .done
        case CCODEC_REFUSED.rawValue: kind = .refused(withUnsafeBytes(of: message.reason) { Self.text($0) })
        default: return nil
        }
        width = Int(message.width)
        height = Int(message.height)
        orientation = (1...8).contains(message.orientation) ? Int(message.orientation) : 1
        hasAlpha = message.has_alpha != 0
        memory = Int(min(message.memory, Self.maximumMemory))
    }

    /// More than any machine has, so sums of a few do not overflow.
    private static let maximumMemory: UInt64 = 1 << 56

    /// The number of bytes of the pixels; nil if the size is not valid for a picture.
    package var pixelBytes: Int? {
        guard width > 0, height > 0, max(width, height) <= 65_535 else { return nil }
        return width * height * 4
    }

    /// The text of a C string; bytes that are not printable ASCII become question marks.
    package static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        let characters = bytes.prefix { $0 != 0 }.map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: "?") }
        return String(decoding: characters, as: UTF8.self)
    }
}
