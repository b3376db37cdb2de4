internal import JSON

/// Why a picture is kept.
package enum KeptReason: String, Sendable, Hashable, CaseIterable {
    /// Its classes are nearly equally confident.
    case uncertain
    /// It is like no example, or its model is a placeholder that knows none.
    case unknown
    /// Two versions of its model answer differently.
    case disagree
}

/// A kept picture, without its bytes.
package struct KeptPicture: Sendable, Hashable {
    /// The SHA-256 digest of the bytes: 64 hexadecimal digits in lower case.
    package let id: String
    /// The model that answered, by the name under which it is served, and its version.
    package let model: String, version: String
    package internal(set) var reasons: Set<KeptReason>
    /// The time of the answer in milliseconds since 1970.
    package let time: Int
    /// The number of bytes of the picture.
    package let bytes: Int
    /// The media type of the picture.
    package let type: String

    // Wide: a record, in the order of its fields.
    package init(
        id: String, model: String, version: String, reasons: Set<KeptReason>, time: Int, bytes: Int, type: String
    ) {
        self.id = id
        self.model = model
        self.version = version
        self.reasons = reasons
        self.time = time
        self.bytes = bytes
        self.type = type
    }

    /// The reasons in the order of their declaration.
    package var listed: [String] { KeptReason.allCases.filter(reasons.contains).map(\.rawValue) }

    /// The size of its two files: the bytes and the record.
    var fileBytes: Int { bytes &+ record.count }

    /// An identifier in lower case; nil for other text.
    package static func id(_ text: some StringProtocol) -> String? {
        guard text.utf8.count == 64 else { return nil }
        var digits: [UInt8] = []
        for digit in text.utf8 {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): digits.append(digit)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digits.append(digit | 0x20)
            default: return nil
            }
        }
        return String(decoding: digits, as: UTF8.self)
    }
}

// MARK: The record in the folder

extension KeptPicture {
    /// The maximum size of a record in bytes.
    static let maximumRecord = 4 << 10

    /// The content of the record file, as JSON.
    var record: [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.object { writer in
            writer.member("model", model)
            writer.member("version", version)
            writer.member("why", listed)
            writer.member("time", time)
            writer.member("bytes", bytes)
            writer.member("type", type)
        }
        return writer.bytes
    }

    /// Reads a record; nil if it is damaged.
    init?(id: String, record: [UInt8]) {
        guard case .object(let members) = (try? JSONTree.read(record, .json))?.value,
            case .string(let model) = members["model"], case .string(let version) = members["version"],
            case .array(let why) = members["why"], case .integer(let time) = members["time"],
            case .integer(let bytes) = members["bytes"], case .string(let type) = members["type"],
            time >= 0, bytes > 0, bytes < 1 << 40, type.utf8.allSatisfy({ (0x20..<0x7F).contains($0) })
        else { return nil }
        var reasons: Set<KeptReason> = []
        for reason in why {
            guard case .string(let name) = reason, let reason = KeptReason(rawValue: name) else { return nil }
            reasons.insert(reason)
        }
        guard !reasons.isEmpty else { return nil }
        self.init(id: id, model: model, version: version, reasons: reasons, time: time, bytes: bytes, type: type)
    }
}
