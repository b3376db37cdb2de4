package import ImagePipeline
package import Inference

extension RawFrame {
    /// The media type of raw frames, GStreamer's.
    private static let mediaType = "video/x-raw"

    /// The media type that describes the frame.
    package var described: String {
        "\(Self.mediaType);format=\(format.rawValue);width=\(width);height=\(height);stride=\(stride);"
            + "colorimetry=\(colorimetry.rawValue)"
    }

    /// The frame that a media type describes, as in `video/x-raw;format=BGRA;width=1280;height=720;stride=5120`.
    /// - Returns: nil for other media types.
    /// - Throws: `unsupportedFrame` for an unknown format; `invalidFrame` for missing, repeated or unknown parameters
    ///   and wrong values; `sideTooLong`.
    package static func described(by type: String?) throws(ImageError) -> RawFrame? {
        guard let type, let parts = parts(of: type) else { return nil }
        var values: [String: String] = [:]
        for part in parts where !part.isEmpty {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(trimmed)
            let name = pair[0].lowercased()
            guard names.contains(name), pair.count == 2 else {
                throw .invalidFrame(
                    "unknown parameter \"\(name.prefix(60))\" in \(mediaType); known: \(names.joined(separator: ", "))")
            }
            guard values.updateValue(unquoted(pair[1]), forKey: name) == nil else {
                throw .invalidFrame("\"\(name)\" is given twice in \(mediaType)")
            }
        }
        func value(_ name: String, _ expected: String) throws(ImageError) -> String {
            guard let value = values[name] else {
                throw .invalidFrame("expected \(name)=\(expected) in \(mediaType), found none")
            }
            return value
        }
        let name = try value("format", "one of \(Format.list)")
        guard let format = Format(rawValue: name) else { throw .unsupportedFrame(name) }
        let width = try number(try value("width", "columns"), "width")
        let height = try number(try value("height", "rows"), "height")
        let stride = try values["stride"].map { (text) throws(ImageError) in try number(text, "stride") }
        var colorimetry = Colorimetry.bt601
        if let text = values["colorimetry"] {
            guard let known = Colorimetry(rawValue: text) else {
                throw .invalidFrame(
                    "expected colorimetry=\(Colorimetry.allCases.map(\.rawValue).joined(separator: " or ")), found "
                        + "\"\(text.prefix(60))\"")
            }
            colorimetry = known
        }
        return try RawFrame(format, width: width, height: height, stride: stride, colorimetry: colorimetry)
    }

    /// True if a media type is that of raw frames, however it is completed.
    package static func isDescribed(by type: String?) -> Bool { type.flatMap(parts) != nil }

    private static let names = ["format", "width", "height", "stride", "colorimetry"]

    /// The parameters of the media type of raw frames; nil for another type.
    private static func parts(of type: String) -> [String]? {
        // Most types are others: compare without a copy.
        guard type.utf8.count >= mediaType.utf8.count,
            zip(type.utf8.drop { $0 == 0x20 || $0 == 0x09 }, mediaType.utf8).allSatisfy({ $0 | 0x20 == $1 | 0x20 })
        else { return nil }
        let parts = type.split(separator: ";", omittingEmptySubsequences: false).map(trimmed)
        return parts[0].lowercased() == mediaType ? Array(parts.dropFirst()) : nil
    }

    /// A whole number. Numbers that no side can have stay so great.
    private static func number(_ text: String, _ name: String) throws(ImageError) -> Int {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw .invalidFrame("expected a whole number as \(name), found \"\(text.prefix(60))\"")
        }
        return Int(text) ?? .max
    }

    private static func trimmed(_ text: Substring) -> String {
        func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return String(text)
    }

    private static func unquoted(_ text: String) -> String {
        text.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"") ? String(text.dropFirst().dropLast()) : text
    }
}

extension EncodedImage {
    /// Takes the layout of a raw frame from a media type; other types change nothing, because files tell their format.
    /// - Parameter type: the media type that the client gives the bytes; nil for none.
    package mutating func take(type: String?) {
        do throws(ImageError) {
            frame = try RawFrame.described(by: type).map { .success($0) }
        } catch {
            frame = .failure(error)
        }
    }
}
