internal import CConfinedCodecs
internal import ImagePipeline

/// A message of a process that decodes a picture. It comes from a process that hostile data may control: nothing in it
/// is believed.
package struct PictureStatement: Sendable, Equatable {
    /// The kinds of messages.
    package enum Kind: Sendable, Equatable {
        /// The size that the pixels will have.
        case size
        /// All pixels are written, with the size that they have.
        case done
        /// The picture cannot be decoded; with the reason.
        case refused(String)
    }

    /// The kind of message.
    package let kind: Kind
    /// The size as stored, and the orientation that is still to be applied.
    package let width: Int, height: Int, orientation: Int
    /// True if pixels have opacity.
    package let hasAlpha: Bool
    /// Bytes of memory that decoding takes, without the pixels and the file.
    package let memory: Int

    /// Reads a message; nil for bytes that are none.
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
        memory = Int(min(message.memory, Self.mostMemory))
    }

    /// More than any machine has. Sums of a few do not overflow.
    private static let mostMemory: UInt64 = 1 << 56

    /// The memory for the pixels; nil if it has no size that a picture may have.
    package var pixelBytes: Int? {
        guard width > 0, height > 0, max(width, height) <= 65_535 else { return nil }
        return width * height * 4
    }

    /// A text of C, as far as it is one that may stand in an answer.
    package static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        let characters = bytes.prefix { $0 != 0 }.map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: "?") }
        return String(decoding: characters, as: UTF8.self)
    }
}
