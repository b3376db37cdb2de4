/// Writes a graph as OpenVINO's intermediate representation, version 11: XML with the operations, and one block of
/// memory with the constants.
///
/// The engine infers types and shapes when it reads the graph; only parameters and constants are written with theirs.
package struct IRWriter {
    private let graph: Graph
    private let name: String
    private let places: Places
    /// The size of the weights in bytes.
    package let weightsSize: Int

    /// Constants are aligned to this many bytes.
    private static let alignment = 64

    /// The offsets of constants in the weights.
    private struct Places {
        /// For each node; nil if it is not a constant.
        var offsets: [Int?] = []
        /// The offsets in the bodies of Loop nodes, by node.
        var loops: [Int: Places] = [:]

        /// Assigns offsets to the constants from `end` on, and advances it.
        init(_ nodes: [Graph.Node], from end: inout Int) {
            for (id, node) in nodes.enumerated() {
                if node.data == nil {
                    offsets.append(nil)
                } else {
                    let start = (end + IRWriter.alignment - 1) / IRWriter.alignment * IRWriter.alignment
                    offsets.append(start)
                    end = start + node.byteCount
                }
                if let loop = node.loop { loops[id] = Places(loop.nodes, from: &end) }
            }
        }
    }

    /// - Parameter name: the name of the model, for the engine's messages.
    package init(_ graph: Graph, name: String = "model") {
        self.graph = graph
        self.name = name
        var end = 0
        places = Places(graph.nodes, from: &end)
        // The engine requires at least one byte of weights.
        weightsSize = max(end, 1)
    }

    /// Copies the constants to memory of at least `weightsSize` bytes. Padding between them is not written.
    package func writeWeights(into memory: UnsafeMutableRawBufferPointer) {
        writeWeights { offset, bytes in
            guard offset + bytes.count <= memory.count else { return }
            UnsafeMutableRawBufferPointer(rebasing: memory[offset...]).copyMemory(from: bytes)
        }
    }

    /// Passes the constants to `write` in pieces, each with its offset in the weights.
    package func writeWeights<Failure: Error>(
        _ write: (_ offset: Int, UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        try self.write(graph.nodes, places, write)
    }

    private func write<Failure: Error>(
        _ nodes: [Graph.Node], _ places: Places,
        _ write: (_ offset: Int, UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        for (id, node) in nodes.enumerated() {
            try self.write(node, at: places.offsets[id], write)
            if let loop = node.loop, let inner = places.loops[id] { try self.write(loop.nodes, inner, write) }
        }
    }

    private func write<Failure: Error>(
        _ node: Graph.Node, at offset: Int?,
        _ write: (_ offset: Int, UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        guard let data = node.data, let offset else { return }
        if let expansion = node.expansion {
            try expand(data, expansion, at: offset, write)
        } else {
            try data.withUnsafeBytes { (bytes) throws(Failure) in try write(offset, bytes) }
        }
    }

    /// The number of elements converted at a time.
    private static let expandedAtOnce = 1 << 16
    /// The 32-bit values of all 16-bit floats: older processors convert each with a function call.
    private static let halves = (0...UInt16.max).map { Float(Float16(bitPattern: $0)) }

    private func expand<Failure: Error>(
        _ data: Bytes, _ expansion: Graph.Expansion, at offset: Int,
        _ write: (_ offset: Int, UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let count = data.count / expansion.stored.width
        let part = max(1, count / max(1, expansion.factors.count))
        var floats = [Float](repeating: 0, count: min(count, Self.expandedAtOnce))
        var done = 0
        while done < count {
            // Each piece has one factor.
            let index = done / part
            let length = min(floats.count, expansion.factors.isEmpty ? count - done : (index + 1) * part - done)
            let factor = index < expansion.factors.count ? expansion.factors[index] : 1
            data.withUnsafeBytes { source in
                if expansion.stored == .f16 {
                    Self.halves.withUnsafeBufferPointer { halves in
                        for place in 0..<length {
                            let bits = source.loadUnaligned(fromByteOffset: (done + place) * 2, as: UInt16.self)
                            floats[place] = halves[Int(bits)] * factor
                        }
                    }
                } else {
                    for place in 0..<length {
                        floats[place] =
                            source.loadUnaligned(fromByteOffset: (done + place) * 4, as: Float.self) * factor
                    }
                }
            }
            try floats.withUnsafeBufferPointer { (floats) throws(Failure) in
                try write(offset + done * 4, UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: floats[..<length])))
            }
            done += length
        }
    }

    /// The weights in newly allocated memory.
    package func weights() -> Bytes { Bytes(count: weightsSize, fill: writeWeights) }

    /// The XML, in UTF-8.
    package func xml() -> [UInt8] {
        var text = "<?xml version=\"1.0\"?>\n<net name=\"\(escaped(name))\" version=\"11\">\n"
        text.reserveCapacity(graph.nodes.count * 256)
        append(graph.nodes, places, to: &text)
        text += "</net>\n"
        return Array(text.utf8)
    }

    private func append(_ nodes: [Graph.Node], _ places: Places, to text: inout String) {
        text += "<layers>\n"
        for (id, node) in nodes.enumerated() { append(node, id: id, places, to: &text) }
        text += "</layers>\n<edges>\n"
        for (id, node) in nodes.enumerated() {
            for (port, input) in node.inputs.enumerated() {
                let source = nodes[input.node].inputs.count + input.port
                text +=
                    "<edge from-layer=\"\(input.node)\" from-port=\"\(source)\" to-layer=\"\(id)\" to-port=\"\(port)\"/>\n"
            }
        }
        text += "</edges>\n"
    }

    /// Writes the body of a Loop. Its first two inputs are the number of rounds and the condition for the first round.
    private func append(_ loop: Graph.Loop, of node: Graph.Node, _ places: Places, to text: inout String) {
        text += "<port_map>\n"
        for (input, parameter) in loop.parameters.enumerated() {
            text += "<input external_port_id=\"\(input + 2)\" internal_layer_id=\"\(parameter)\"/>\n"
        }
        for (output, result) in loop.results.enumerated() {
            let joins =
                result.isJoined ? " axis=\"0\" start=\"0\" end=\"-1\" stride=\"1\" part_size=\"1\"" : ""
            let port = node.inputs.count + output
            text += "<output external_port_id=\"\(port)\" internal_layer_id=\"\(result.node)\"\(joins)/>\n"
        }
        let purpose = "purpose=\"execution_condition\""
        text += "<output external_port_id=\"-1\" internal_layer_id=\"\(loop.condition)\" \(purpose)/>\n"
        text += "</port_map>\n<back_edges>\n"
        for edge in loop.backEdges { text += "<edge from-layer=\"\(edge.result)\" to-layer=\"\(edge.parameter)\"/>\n" }
        text += "</back_edges>\n<body>\n"
        append(loop.nodes, places, to: &text)
        text += "</body>\n"
    }

    private func append(_ node: Graph.Node, id: Int, _ places: Places, to text: inout String) {
        let isBoundary = node.type == "Parameter" || node.type == "Result"
        let name = isBoundary || node.name.isEmpty ? node.name : "\(node.name)/\(id)"
        text +=
            "<layer id=\"\(id)\" name=\"\(escaped(name.isEmpty ? "\(node.type)_\(id)" : name))\" type=\"\(node.type)\""
        text += " version=\"opset\(node.opset)\">\n"
        if let output = node.outputs.first, node.type == "Parameter" || node.type == "Const" {
            text += "<data element_type=\"\(output.type.rawValue)\" shape=\""
            text += output.shape.map { $0.map(String.init) ?? "?" }.joined(separator: ",") + "\""
            if let offset = places.offsets[id] { text += " offset=\"\(offset)\" size=\"\(node.byteCount)\"" }
            text += "/>\n"
        } else if !node.attributes.isEmpty {
            text += "<data"
            for (key, value) in node.attributes { text += " \(key)=\"\(escaped(value.text))\"" }
            text += "/>\n"
        }
        if !node.inputs.isEmpty {
            text += "<input>"
            for port in node.inputs.indices { text += "<port id=\"\(port)\"/>" }
            text += "</input>\n"
        }
        if !node.outputs.isEmpty {
            text += "<output>"
            for (port, output) in node.outputs.enumerated() {
                append(output, port: node.inputs.count + port, to: &text)
            }
            text += "</output>\n"
        }
        if let loop = node.loop, let inner = places.loops[id] { append(loop, of: node, inner, to: &text) }
        text += "</layer>\n"
    }

    private func append(_ output: Graph.Output, port: Int, to text: inout String) {
        text += "<port id=\"\(port)\" precision=\"\(output.type.precision)\""
        if !output.names.isEmpty {
            // Commas separate names; a comma within a name is escaped by a backslash.
            let names = output.names.map { name in
                name.unicodeScalars.reduce(into: "") { $0 += $1 == "," ? "\\," : String($1) }
            }
            text += " names=\"\(escaped(names.joined(separator: ",")))\""
        }
        text += "/>"
    }

    /// Text escaped for an XML attribute. Characters that XML does not allow become U+FFFD.
    private func escaped(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\t": result += "&#9;"
            case "\n": result += "&#10;"
            case "\r": result += "&#13;"
            case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension Graph.ElementType {
    /// The name in ports, which differs from that of `element_type`.
    fileprivate var precision: String {
        switch self {
        case .f32: "FP32"
        case .f16: "FP16"
        case .f64: "FP64"
        case .boolean: "BOOL"
        default: rawValue.uppercased()
        }
    }
}

extension Graph.Attribute {
    fileprivate var text: String {
        switch self {
        case .text(let text): text
        case .integer(let value): String(value)
        case .integers(let values): values.map(String.init).joined(separator: ",")
        case .float(let value): "\(value)"
        case .floats(let values): values.map { "\($0)" }.joined(separator: ",")
        case .texts(let values): values.joined(separator: ",")
        case .bool(let value): value ? "true" : "false"
        }
    }
}
