package import FileFormats

/// Reads the facts in an ONNX file (onnx.proto): `metadata_props`, and the operator that makes its output. Weights are
/// skipped.
package enum ONNXReader {
    // Field numbers of ModelProto, GraphProto, NodeProto, StringStringEntryProto and ValueInfoProto.
    private static let modelGraph = 7, modelProperties = 14
    private static let graphNode = 1, graphInput = 11, graphOutput = 12
    private static let nodeInput = 1, nodeOutput = 2, nodeOperator = 4, nodeDomain = 7
    private static let maximumNodes = 200_000, maximumProperties = 1_000

    package static func read(_ source: ByteSource, name: String) -> FactSheet {
        var sheet = FactSheet()
        var properties: [String: String] = [:]
        do throws(FormatError) {
            var walk = ProtobufWalk(source, 0..<source.count)
            while let field = try walk.next() {
                guard case .bytes(let range) = field.value else { continue }
                if field.number == modelGraph {
                    sheet.endings = try endings(range, source).map {
                        OutputEnding(output: $0.0, fact: Fact($0.1, source: name, key: "the last operator"))
                    }
                } else if field.number == modelProperties, properties.count < maximumProperties {
                    let (key, value) = try property(range, source)
                    properties[key] = value
                }
            }
        } catch {
            sheet.problems.append(FactProblem(source: name, reason: error.reason))
        }
        let place = "metadata_props of \(name)"
        return .merged([
            UltralyticsReader.properties(properties, source: place), images(properties, source: place), sheet,
        ])
    }

    /// The value of one of `metadata_props`; nil without it, or if the file cannot be read.
    package static func property(_ name: String, of source: ByteSource) -> String? {
        var count = 0
        do throws(FormatError) {
            var walk = ProtobufWalk(source, 0..<source.count)
            while count < maximumProperties, let field = try walk.next() {
                guard field.number == modelProperties, case .bytes(let range) = field.value else { continue }
                count += 1
                let (key, value) = try property(range, source)
                if key == name { return value }
            }
        } catch {
            return nil
        }
        return nil
    }

    /// The names of the inputs and outputs of a model's graph; nil if the file cannot be read. Parameters that old
    /// files list among the inputs are among them.
    package static func ports(_ source: ByteSource) -> (inputs: [String], outputs: [String])? {
        var ports = (inputs: [String](), outputs: [String]())
        do throws(FormatError) {
            var walk = ProtobufWalk(source, 0..<source.count)
            while let field = try walk.next() {
                guard field.number == modelGraph, case .bytes(let graph) = field.value else { continue }
                var inner = ProtobufWalk(source, graph)
                while let field = try inner.next() {
                    guard field.number == graphInput || field.number == graphOutput,
                        case .bytes(let port) = field.value,
                        let name = try name(port, source)
                    else { continue }
                    if field.number == graphInput {
                        if ports.inputs.count < maximumPorts { ports.inputs.append(name) }
                    } else if ports.outputs.count < maximumPorts {
                        ports.outputs.append(name)
                    }
                }
            }
        } catch {
            return nil
        }
        return ports
    }

    private static let maximumPorts = 100_000

    /// ValueInfoProto: name = 1.
    private static func name(_ port: Range<Int>, _ source: ByteSource) throws(FormatError) -> String? {
        var walk = ProtobufWalk(source, port)
        while let field = try walk.next() {
            if field.number == 1, case .bytes(let name) = field.value { return try text(name, source) }
        }
        return nil
    }

    /// The number of a model's layers with both operands rounded to 8 bits; 0 if the file cannot be read.
    package static func integerLayers(_ source: ByteSource) -> Int {
        var layers = IntegerLayers()
        do throws(FormatError) {
            var walk = ProtobufWalk(source, 0..<source.count)
            while let field = try walk.next() {
                guard field.number == modelGraph, case .bytes(let range) = field.value else { continue }
                try add(range, to: &layers, source)
            }
        } catch {
            return 0
        }
        return layers.count
    }

    /// GraphProto: node = 1, initializer = 5. NodeProto: attribute = 5.
    private static func add(
        _ graph: Range<Int>, to layers: inout IntegerLayers, _ source: ByteSource
    ) throws(FormatError) {
        var quantizers: [(zeroPoint: String?, outputs: [String])] = []
        var types: [String: UInt64] = [:]
        var walk = ProtobufWalk(source, graph)
        var count = 0
        while let field = try walk.next() {
            guard field.number == graphNode || field.number == 5, case .bytes(let range) = field.value else { continue }
            count += 1
            guard count <= maximumNodes else { throw FormatError("has more than \(maximumNodes) nodes") }
            guard field.number == graphNode else {
                let tensor = try self.tensor(range, source)
                types[tensor.name] = tensor.type
                continue
            }
            let (node, outputs) = try self.node(range, source)
            layers.add(node, makes: outputs)
            if node.operation == "QuantizeLinear" {
                quantizers.append((node.inputs.count > 2 && node.inputs[2] != "" ? node.inputs[2] : nil, outputs))
            }
            if node.operation == "Constant", let output = outputs.first {
                types[output] = try constantType(range, source)
            }
        }
        for (name, type) in types { layers.addConstant(name, hasBytes: isByte(type)) }
        // Without a zero point, values are rounded to unsigned bytes; quantizers to wider types have one.
        for (zeroPoint, outputs) in quantizers where zeroPoint.map({ types[$0].map(isByte) ?? true }) ?? true {
            for output in outputs { layers.addQuantized(output) }
        }
    }

    /// TensorProto.DataType: UINT8, INT8.
    private static func isByte(_ type: UInt64) -> Bool { type == 2 || type == 3 }

    /// TensorProto: data_type = 2, name = 8.
    private static func tensor(
        _ range: Range<Int>, _ source: ByteSource
    ) throws(FormatError) -> (name: String, type: UInt64) {
        var tensor = (name: "", type: UInt64(0))
        var walk = ProtobufWalk(source, range)
        while let field = try walk.next() {
            if field.number == 2, case .varint(let type) = field.value { tensor.type = type }
            if field.number == 8, case .bytes(let name) = field.value { tensor.name = try text(name, source) }
        }
        return tensor
    }

    /// The type of a node's constant; AttributeProto: t = 5.
    private static func constantType(_ node: Range<Int>, _ source: ByteSource) throws(FormatError) -> UInt64 {
        var walk = ProtobufWalk(source, node)
        while let field = try walk.next() {
            guard field.number == 5, case .bytes(let attribute) = field.value else { continue }
            var inner = ProtobufWalk(source, attribute)
            while let member = try inner.next() {
                if member.number == 5, case .bytes(let range) = member.value { return try tensor(range, source).type }
            }
        }
        return 0
    }

    /// Reads the properties of images defined by ONNX's own MetadataProps.md, as written by Windows ML and Custom
    /// Vision.
    private static func images(_ properties: [String: String], source: String) -> FactSheet {
        var sheet = FactSheet()
        func note(_ key: String, _ expected: String) {
            sheet.problems.append(
                FactProblem(
                    source: source,
                    reason: "\(key): expected \(expected), found \"\(properties[key]?.prefix(60) ?? "")\""))
        }
        if let format = properties["Image.BitmapPixelFormat"] {
            let orders: [String: PictureOrder] = ["Rgb8": .rgb, "Bgr8": .bgr, "Gray8": .gray]
            if let order = orders[format] {
                sheet.order = Fact(order, source: source, key: "Image.BitmapPixelFormat")
            } else {
                note("Image.BitmapPixelFormat", "Rgb8, Bgr8 or Gray8")
            }
        }
        if let range = properties["Image.NominalPixelRange"] {
            var form = PictureNormalization()
            switch range {
            case "NominalRange_0_255": form.rescale = 1
            case "Normalized_0_1": break
            case "Normalized_1_1":
                form.mean = [0.5, 0.5, 0.5]
                form.std = [0.5, 0.5, 0.5]
            default:
                note("Image.NominalPixelRange", "NominalRange_0_255, Normalized_0_1 or Normalized_1_1")
                return sheet
            }
            sheet.normalization = Fact(form, source: source, key: "Image.NominalPixelRange")
        }
        return sheet
    }

    private static func text(_ range: Range<Int>, _ source: ByteSource) throws(FormatError) -> String {
        String(decoding: try source.bytes(at: range.lowerBound, count: range.count, maximum: 16 << 20), as: UTF8.self)
    }

    private static func property(_ range: Range<Int>, _ source: ByteSource) throws(FormatError) -> (String, String) {
        var (key, value) = ("", "")
        var walk = ProtobufWalk(source, range)
        while let field = try walk.next() {
            guard case .bytes(let range) = field.value else { continue }
            if field.number == 1 { key = try text(range, source) }
            if field.number == 2 { value = try text(range, source) }
        }
        return (key, value)
    }

    private static let maximumOutputs = 64

    private static func endings(
        _ graph: Range<Int>, _ source: ByteSource
    ) throws(FormatError) -> [(String, GraphEnding)] {
        var trace = GraphTrace()
        var outputs: [String] = []
        var walk = ProtobufWalk(source, graph)
        var count = 0
        while let field = try walk.next() {
            guard case .bytes(let range) = field.value else { continue }
            if field.number == graphNode {
                count += 1
                guard count <= maximumNodes else { throw FormatError("has more than \(maximumNodes) nodes") }
                let (node, made) = try self.node(range, source)
                for output in made { trace.makers[output] = node }
            } else if field.number == graphOutput, outputs.count < maximumOutputs {
                var inner = ProtobufWalk(source, range)
                while let part = try inner.next() {
                    if part.number == 1, case .bytes(let name) = part.value { outputs.append(try text(name, source)) }
                }
            }
        }
        return outputs.compactMap { name in trace.ending(of: name).map { (name, $0) } }
    }

    /// A node, and its output tensors.
    private static func node(
        _ range: Range<Int>, _ source: ByteSource
    ) throws(FormatError) -> (GraphTrace.Node, outputs: [String]) {
        var node = GraphTrace.Node()
        var outputs: [String] = []
        var domain = ""
        var walk = ProtobufWalk(source, range)
        while let field = try walk.next() {
            guard case .bytes(let part) = field.value, part.count <= 65_536 else { continue }
            switch field.number {
            case nodeInput: if node.inputs.count < 1_024 { node.inputs.append(try text(part, source)) }
            case nodeOutput: if outputs.count < 1_024 { outputs.append(try text(part, source)) }
            case nodeOperator: node.operation = try text(part, source)
            case nodeDomain: domain = try text(part, source)
            default: break
            }
        }
        // An operator of another domain, or a function of the file, may have the same name but is a different operator.
        if !["", "ai.onnx", "com.microsoft"].contains(domain) { node.operation = "\(domain).\(node.operation)" }
        return (node, outputs)
    }
}
