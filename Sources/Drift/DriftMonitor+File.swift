package import FoundationEssentials
internal import JSON

// The file of a monitor: JSON of at most a few hundred kilobytes, with all numbers in full, so that a monitor that is
// read again continues exactly as if it had not been written.

/// A monitor, with the model and the version that it watches.
package struct DriftRecord: Sendable, Equatable {
    /// The name of the model.
    package let model: String
    /// The version that answers: another learns anew.
    package let version: String
    /// The digest of the files of the version; empty while it is not known.
    package let files: String
    package var monitor: DriftMonitor

    package init(model: String, version: String, files: String = "", monitor: DriftMonitor) {
        self.model = model
        self.version = version
        self.files = files
        self.monitor = monitor
    }

    /// The maximum size of a file in bytes.
    package static let largest = 4 << 20
    private static let format = 1

    /// The reason a file cannot be used.
    package struct Problem: Error, Sendable, Hashable {
        package let reason: String

        package init(reason: String) { self.reason = reason }
    }

    // MARK: Writing

    /// The text of the file, with a final newline.
    package func text() -> [UInt8] {
        var writer = JSONWriter(capacity: 32 << 10)
        writer.object { writer in
            writer.member("format", Self.format)
            writer.member("model", model)
            writer.member("version", version)
            writer.member("files", files)
            writer.member("state", monitor.state.rawValue)
            writer.member("since", monitor.since)
            writer.member("pictures", monitor.reference.pictures)
            writer.member("from", ifKnown: monitor.reference.from)
            writer.member("to", ifKnown: monitor.reference.to)
            writer.key("times")
            writer.array { writer in for time in monitor.times { writer.integer(time) } }
            writer.member("directions", monitor.direction.count)
            writer.key("direction")
            Self.write(monitor.direction.sum, to: &writer)
            writer.key("signals")
            writer.object { writer in
                for signal in DriftSignal.allCases {
                    guard let state = monitor.signals[signal.index] else { continue }
                    writer.key(signal.rawValue)
                    writer.object { Self.write(state, to: &$0) }
                }
            }
        }
        return writer.bytes + [0x0A]
    }

    private static func write(_ numbers: [Double], to writer: inout JSONWriter) {
        writer.array { writer in for number in numbers { writer.number(number) } }
    }

    private static func write(_ state: SignalMonitor, to writer: inout JSONWriter) {
        writer.member("pictures", state.referenceCount)
        writer.member("sum", state.referenceSum)
        writer.member("drifted", state.hasDrifted)
        writer.key("evidence")
        write(state.evidence.sums.indices.map { state.evidence.sums[$0] }, to: &writer)
        writer.key("recent")
        write(state.recent, to: &writer)
        // Of each cell that is not empty its number and its pictures.
        writer.key("cells")
        writer.array { writer in
            for cell in 0..<CellCounts.cells {
                let own = state.counts.own(cell)
                guard own > 0 else { continue }
                writer.integer(cell)
                writer.integer(own)
            }
        }
    }

    // MARK: Reading

    /// Reads the text of a file.
    package init(_ data: Data) throws(Problem) {
        guard data.count <= Self.largest else { throw Problem(reason: "it has more than \(Self.largest) bytes") }
        let value: JSONValue
        do throws(JSONTextError) {
            value = try JSONValue.parse(data)
        } catch {
            throw Problem(reason: "it is not JSON: \(error.reason)")
        }
        let file = try Members(value, path: "the file")
        guard try file.integer("format", 0...Int.max) == Self.format else {
            throw Problem(reason: "its format is not \(Self.format)")
        }
        model = try file.string("model")
        version = try file.string("version")
        files = try file.string("files")
        monitor = try Self.monitor(file)
    }

    private static func monitor(_ file: Members) throws(Problem) -> DriftMonitor {
        var monitor = DriftMonitor(at: try file.integer("since", timeRange))
        guard let state = DriftMonitor.State(rawValue: try file.string("state")) else {
            throw Problem(reason: "its state is unknown")
        }
        monitor.state = state
        let pictures = try file.integer("pictures", 0...CellCounts.most)
        monitor.reference = DriftMonitor.Span(
            pictures: pictures, from: pictures > 0 ? try file.integer("from", timeRange) : nil,
            to: pictures > 0 ? try file.integer("to", timeRange) : nil)
        for time in try file.numbers("times", most: SignalMonitor.recentCount) {
            guard let time = Int(exactly: time), timeRange.contains(time) else {
                throw Problem(reason: "a time is not possible")
            }
            monitor.times.append(time)
        }
        guard
            let direction = MeanDirection(
                sum: try file.numbers("direction", most: MeanDirection.longest),
                count: try file.integer("directions", 0...CellCounts.most))
        else { throw Problem(reason: "its direction is not possible") }
        monitor.direction = direction
        let signals = try file.object("signals")
        for name in signals.members.keys {
            guard let signal = DriftSignal(rawValue: name) else { throw Problem(reason: "a signal is unknown") }
            monitor.signals[signal.index] = try self.signal(signals.object(name), in: monitor)
        }
        guard state == .drifted || !monitor.signals.contains(where: { $0?.hasDrifted == true }) else {
            throw Problem(reason: "a signal has drifted, and the state is \(state.rawValue)")
        }
        return monitor
    }

    private static func signal(_ file: Members, in monitor: DriftMonitor) throws(Problem) -> SignalMonitor {
        var signal = SignalMonitor()
        let cells = try file.numbers("cells", most: 2 * CellCounts.cells)
        guard cells.count.isMultiple(of: 2) else { throw Problem(reason: "a cell has no pictures") }
        var next = 0
        for index in stride(from: 0, to: cells.count, by: 2) {
            guard let cell = Int(exactly: cells[index]), let count = Int(exactly: cells[index + 1]),
                cell >= next, cell < CellCounts.cells, count > 0, count <= CellCounts.most - signal.counts.total
            else { throw Problem(reason: "a cell is not possible") }
            signal.counts.add(count, to: cell)
            next = cell + 1
        }
        signal.referenceCount = try file.integer("pictures", 0...min(signal.counts.total, monitor.reference.pictures))
        signal.referenceSum = try file.number("sum")
        guard signal.referenceSum >= 0, signal.referenceSum <= Double(signal.referenceCount) else {
            throw Problem(reason: "a mean is not possible")
        }
        guard let evidence = DriftEvidence(try file.numbers("evidence", most: 8)) else {
            throw Problem(reason: "evidence is not possible")
        }
        signal.evidence = evidence
        signal.recent = try file.numbers("recent", most: SignalMonitor.recentCount)
        guard signal.recent.allSatisfy({ $0 >= 0 && $0 <= 1 }), signal.recent.count <= signal.counts.total else {
            throw Problem(reason: "a recent value is not possible")
        }
        signal.hasDrifted = try file.bool("drifted")
        return signal
    }

    /// Seconds from 1970 on that a file may name: up to the year 10,000, which the form of answers can write.
    private static let timeRange = 0...253_402_300_799
}

/// The members of an object in a file; each must be there.
private struct Members {
    let members: [String: JSONValue]
    let path: String

    init(_ value: JSONValue, path: String) throws(DriftRecord.Problem) {
        guard case .object(let members) = value else {
            throw DriftRecord.Problem(reason: "\(path): expected an object, found \(value.kind)")
        }
        self.members = members
        self.path = path
    }

    private func value(_ name: String) throws(DriftRecord.Problem) -> JSONValue {
        guard let value = members[name] else { throw DriftRecord.Problem(reason: "\(path) has no \(name)") }
        return value
    }

    private func wrong(_ name: String, _ expected: String) -> DriftRecord.Problem {
        DriftRecord.Problem(reason: "\(name) of \(path): expected \(expected)")
    }

    func object(_ name: String) throws(DriftRecord.Problem) -> Members { try Members(value(name), path: name) }

    func string(_ name: String) throws(DriftRecord.Problem) -> String {
        guard case .string(let text) = try value(name) else { throw wrong(name, "text") }
        return text
    }

    func bool(_ name: String) throws(DriftRecord.Problem) -> Bool {
        guard case .bool(let flag) = try value(name) else { throw wrong(name, "true or false") }
        return flag
    }

    func integer(_ name: String, _ range: ClosedRange<Int>) throws(DriftRecord.Problem) -> Int {
        guard case .integer(let number) = try value(name), range.contains(number) else {
            throw wrong(name, "an integer from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func number(_ name: String) throws(DriftRecord.Problem) -> Double {
        guard let number = try value(name).finite else { throw wrong(name, "a number") }
        return number
    }

    func numbers(_ name: String, most: Int) throws(DriftRecord.Problem) -> [Double] {
        guard case .array(let elements) = try value(name), elements.count <= most else {
            throw wrong(name, "at most \(most) numbers")
        }
        let numbers = elements.compactMap(\.finite)
        guard numbers.count == elements.count else { throw wrong(name, "numbers") }
        return numbers
    }
}
