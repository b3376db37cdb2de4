/// Shortens ONNX Runtime's messages to one line, without the path of the file and the locations in its sources.
package enum ORTMessage {
    private static let maximum = 400

    package static func summary(_ message: String) -> String {
        var text = message.split(whereSeparator: \.isNewline).map { $0.trimmed }.filter { !$0.isEmpty }
            .joined(separator: " ")[...]
        // "Load model from PATH failed:" and "/path/in/sources.cc:123 function(arguments) [ONNXRuntimeError] ..."
        if text.hasPrefix("Load model from "), let failed = text.firstRange(of: " failed:") {
            text = text[failed.upperBound...].drop { $0 == " " }
        }
        if text.hasPrefix("/"), let end = text.firstRange(of: ") ") ?? text.firstRange(of: " ") {
            let place = text[..<end.lowerBound]
            if place.contains(".cc:") || place.contains(".h:") { text = text[end.upperBound...] }
        }
        return text.count > maximum ? text.prefix(maximum) + "..." : String(text)
    }

    /// True if a run failed because the memory for an output has another shape than the output.
    package static func isOfOutputShape(_ message: String) -> Bool {
        message.contains("OrtValue provided for output") || message.contains("OrtValue shape verification failed")
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
