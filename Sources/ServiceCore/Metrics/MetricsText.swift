/// Writes Prometheus's text format, version 0.0.4.
package struct MetricsText {
    package private(set) var bytes: [UInt8] = []

    /// The content type of the format.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The type of a metric.
    package enum Kind: String {
        case counter, gauge, histogram, summary
    }

    /// A label with its value.
    package typealias Label = (name: String, value: String)

    package init(capacity: Int = 32 << 10) { bytes.reserveCapacity(capacity) }

    /// Writes the lines before the samples of one metric.
    package mutating func family(_ name: String, _ kind: Kind, _ help: String) {
        append("# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n")
    }

    package mutating func sample(_ name: String, _ labels: [Label] = [], _ value: UInt64) {
        sample(name, labels, text: String(value))
    }

    mutating func sample(_ name: String, _ labels: [Label] = [], _ value: Int) {
        sample(name, labels, text: String(value))
    }

    /// Writes a sample in seconds.
    mutating func sample(_ name: String, _ labels: [Label] = [], nanoseconds: UInt64) {
        sample(name, labels, text: Self.seconds(nanoseconds))
    }

    mutating func sample(_ name: String, _ labels: [Label] = [], text: String) {
        append(name)
        if !labels.isEmpty {
            append("{")
            for (index, label) in labels.enumerated() {
                append("\(index > 0 ? "," : "")\(label.name)=\"")
                escaped(label.value)
                append("\"")
            }
            append("}")
        }
        append(" \(text)\n")
    }

    /// Writes a family with one sample.
    mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: some BinaryInteger) {
        family(name, kind, help)
        sample(name, [], text: String(value))
    }

    /// Writes the samples of one histogram.
    package mutating func histogram(_ name: String, _ labels: [Label], _ histogram: Histogram) {
        var total: UInt64 = 0
        for (label, count) in zip(Histogram.labels, histogram.buckets) {
            total &+= count
            sample(name + "_bucket", labels + [("le", label)], total)
        }
        sample(name + "_sum", labels, nanoseconds: histogram.sum)
        // The buckets' own total rather than another counter, so that the two always agree.
        sample(name + "_count", labels, total)
    }

    /// Nanoseconds as seconds, exactly, in as few digits as possible.
    package static func seconds(_ nanoseconds: UInt64) -> String {
        let whole = nanoseconds / 1_000_000_000, part = nanoseconds % 1_000_000_000
        guard part > 0 else { return String(whole) }
        var digits = String(part)
        digits = String(repeating: "0", count: 9 - digits.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(whole).\(digits)"
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func escaped(_ value: String) {
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\\"), UInt8(ascii: "\""):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case UInt8(ascii: "\n"): append("\\n")
            default: bytes.append(byte)
            }
        }
    }
}
