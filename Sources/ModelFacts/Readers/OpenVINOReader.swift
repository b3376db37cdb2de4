internal import FileFormats

/// Reads the facts in an OpenVINO IR (the XML file): `rt_info/model_info`, as written by Model API, Geti and
/// Ultralytics, and the last layer.
package enum OpenVINOReader {
    package static let maximumBytes = 64 << 20
    private static let maximumDepth = 200, maximumLayers = 200_000

    package static func read(_ text: [UInt8], name: String) -> FactSheet {
        var sheet = FactSheet()
        do throws(FormatError) {
            let found = try walk(text)
            sheet = .merged([
                ModelInfo(found.info, source: "model_info of \(name)").sheet,
                UltralyticsReader.properties(found.framework, source: "rt_info/framework of \(name)"),
            ])
            // The names of each output, separated by commas.
            sheet.endings = found.graph.endings().map {
                OutputEnding(output: $0.0, fact: Fact($0.1, source: name, key: "the last layer"))
            }
        } catch {
            sheet.problems.append(FactProblem(source: name, reason: error.reason))
        }
        return sheet
    }

    private struct Found {
        /// `net/rt_info/model_info`, with nested names joined by a dot.
        var info: [String: String] = [:]
        /// `net/rt_info/framework`, where exporters of frameworks write their keys.
        var framework: [String: String] = [:]
        var graph = Graph()
    }

    /// The number of an IR's layers with both operands rounded to 8 bits; 0 if it cannot be read.
    package static func integerLayers(_ text: [UInt8]) -> Int { (try? walk(text))?.graph.integerLayers ?? 0 }

    /// The parts of the graph that are needed to find the last operations of its outputs.
    private struct Graph {
        var types: [Int: String] = [:]
        /// The sources of each layer's inputs, by port.
        var sources: [Int: [Int: (layer: Int, port: Int)]] = [:]
        /// The names of tensors, by layer and port.
        var names: [Int: [Int: String]] = [:]
        var results: [Int] = []
        /// The layers that round to 8 bits, and the constants of 8 bits.
        var bytes: Set<Int> = []
        /// The layer with the elements that are being read.
        private var layer = -1

        private var nodes: [(String, GraphTrace.Node)] {
            types.map { layer, type in
                let inputs = (sources[layer] ?? [:]).sorted { $0.key < $1.key }.map { "\($0.value.layer)" }
                return ("\(layer)", GraphTrace.Node(operation: type, inputs: inputs))
            }
        }

        var integerLayers: Int {
            var layers = IntegerLayers()
            for (name, node) in nodes { layers.add(node, makes: [name]) }
            for (layer, type) in types where type == "Const" {
                layers.addConstant("\(layer)", hasBytes: bytes.contains(layer))
            }
            for layer in bytes where types[layer] == "FakeQuantize" { layers.addQuantized("\(layer)") }
            return layers.count
        }

        /// Adds an opened element at a path: a layer, its data, a port, an edge.
        mutating func add(_ name: String, _ attributes: [String: String], at path: [String]) throws(FormatError) {
            // Graphs within layers (loops, conditions) have their own layers.
            if name == "layer", path.count == 3, let id = attributes["id"].flatMap({ Int($0) }),
                let type = attributes["type"]
            {
                guard types.count < maximumLayers else {
                    throw FormatError("has more than \(maximumLayers) layers")
                }
                types[id] = type
                layer = id
                if type == "Result" { results.append(id) }
            }
            if name == "data", path.count == 4 {
                let levels = attributes["levels"].flatMap { Int($0) }
                let type = attributes["element_type"] ?? ""
                let hasBytes = types[layer] == "Const" && ["i8", "u8"].contains(type)
                if hasBytes || levels.map({ $0 <= 256 }) == true { bytes.insert(layer) }
            }
            if name == "port", path.count == 5, path[3] == "output", let id = attributes["id"].flatMap({ Int($0) }),
                let names = attributes["names"]
            {
                self.names[layer, default: [:]][id] = names
            }
            if name == "edge", path.count == 3, let port = attributes["to-port"].flatMap({ Int($0) }),
                let from = attributes["from-layer"].flatMap({ Int($0) }),
                let to = attributes["to-layer"].flatMap({ Int($0) })
            {
                let fromPort = attributes["from-port"].flatMap { Int($0) } ?? 0
                sources[to, default: [:]][port] = (from, fromPort)
            }
        }

        func endings() -> [(String, GraphEnding)] {
            var trace = GraphTrace()
            for (name, node) in nodes { trace.makers[name] = node }
            return results.prefix(64).compactMap { result in
                let maker = sources[result]?[0]
                let names = maker.flatMap { self.names[$0.layer]?[$0.port] } ?? ""
                return trace.ending(of: "\(result)").map { (names, $0) }
            }
        }
    }

    private static func walk(_ text: [UInt8]) throws(FormatError) -> Found {
        guard text.count <= maximumBytes else {
            throw FormatError("has \(text.count) bytes: the limit is \(maximumBytes)")
        }
        var walk = XMLWalk(text)
        var found = Found()
        var path: [String] = []
        var graph = Graph()
        while let event = try walk.next() {
            switch event {
            case .close(let name):
                guard path.last == name else {
                    throw FormatError(
                        "closes \"\(name.prefix(40))\" at byte \(walk.place), where \"\(path.last ?? "nothing")\" is open"
                    )
                }
                path.removeLast()
            case .open(let name, let attributes, let isEmpty):
                if path.isEmpty, name != "net" {
                    throw FormatError("begins with \"\(name.prefix(40))\" where an IR has \"net\"")
                }
                path.append(name)
                guard path.count <= maximumDepth else {
                    throw FormatError("is nested more than \(maximumDepth) deep at byte \(walk.place)")
                }
                try graph.add(name, attributes, at: path)
                if path.count > 3, path[1] == "rt_info", let value = attributes["value"] {
                    let key = path[3...].joined(separator: ".")
                    if path[2] == "model_info", found.info.count < 10_000 { found.info[key] = value }
                    if path[2] == "framework", found.framework.count < 10_000 { found.framework[key] = value }
                }
                if isEmpty { path.removeLast() }
            }
        }
        guard path.isEmpty else { throw FormatError("ends within \"\(path.last ?? "")\"") }
        found.graph = graph
        return found
    }
}
