/// Lists of tensors that loops read and write.
extension ProgramOperations {
    static let lists: [String: Decoder] = [
        "make_list": { call throws(Problem) in
            let length = try call.integer("init_length", default: 1)
            var shape: [Int]? = []
            for operand in try call.operands("elem_shape") {
                if let extents = try operand.tensor?.integers() { shape? += extents } else { shape = nil }
            }
            return [
                .tensors(
                    try TensorList(
                        length: length, grows: call.bool("dynamic_length", default: true), shape: shape,
                        isFloat: call.text("dtype", default: "fp32").hasPrefix("fp")))
            ]
        },
        "list_length": { call throws(Problem) in
            let list = try list(call)
            if list.grows, list.variable != nil { throw Problem("the loop asks for the length of a list that grows") }
            let count = Int32(clamping: list.count)
            return [.constant(ProgramConstant(try BlobTensor(.int32, shape: [], bytes: Bytes(of: [count]))))]
        },
        "list_read": { call throws(Problem) in
            let (list, graph) = (try list(call), call.graph)
            guard try call.knownIntegers("index") == nil, let rows = list.rows else {
                return [try list.read(call.integer("index"), call.program)]
            }
            return [.value(try graph.gather(rows, graph.scalar(of: call.value("index")), axis: 0))]
        },
        "list_write": { call throws(Problem) in
            guard let value = try call.operands("value").first, let index = try call.operands("index").first else {
                throw call.missing("value")
            }
            return [.tensors(try list(call).written(value, at: index, call))]
        },
        "list_gather": { call throws(Problem) in
            let (list, graph, indices) = (try list(call), call.graph, try call.requiredIntegers("indices"))
            if let rows = list.rows {
                if indices == Array(0..<list.count) { return [.value(rows)] }
                for index in indices { try list.check(index) }
                return [.value(try graph.gather(rows, graph.integers(indices), axis: 0))]
            }
            var layers: [Graph.Value] = []
            for index in indices {
                let element = try call.program.value(of: list.read(index, call.program))
                layers.append(try graph.unsqueeze(element, [0]))
            }
            return [.value(try graph.concat(layers, axis: 0))]
        },
        "list_scatter": { call throws(Problem) in
            var list = try list(call)
            let (value, graph, indices) = (try call.value("value"), call.graph, try call.requiredIntegers("indices"))
            if indices == Array(0..<indices.count), list.count <= indices.count, value.rank > 0,
                value.shape[0] == indices.count
            {
                return [.tensors(try list.filled(value))]
            }
            for (place, index) in indices.enumerated() {
                let layer = try graph.gather(value, graph.scalar(place), axis: 0)
                try list.write(.value(layer), at: index, call.program)
            }
            return [.tensors(list)]
        },
    ]

    private static func list(_ call: ProgramCall) throws(Problem) -> TensorList {
        guard case .tensors(let list) = try call.operands("ls").first else { throw Problem("must be a list", at: "ls") }
        return list
    }
}

/// A list of tensors: loops read sequences from lists and write their results to them.
struct TensorList {
    /// The storage of the elements.
    private indirect enum Elements {
        case single([ProgramOperand?])
        /// All elements in one value, [count, …].
        case rows(Graph.Value)
        /// A variable of a loop, within its body: elements are outside; with the element that the round wrote.
        case outside(variable: Int, Write?)
    }

    /// An element that a round writes to a list.
    struct Write {
        let value: Graph.Value
        let index: ProgramOperand
    }

    private var elements: Elements
    private(set) var count: Int
    /// True if writing beyond the last element extends the list.
    let grows: Bool
    /// The shape of an element, if the file declares it: elements that were never written are zeros.
    private let shape: [Int]?
    private let isFloat: Bool

    private static let maximumLength = 1 << 16

    init(length: Int, grows: Bool, shape: [Int]?, isFloat: Bool) throws(Problem) {
        guard length >= 0, length <= Self.maximumLength else { throw Problem("unsupported list of \(length) elements") }
        elements = .single([ProgramOperand?](repeating: nil, count: length))
        count = length
        self.grows = grows
        self.shape = shape
        self.isFloat = isFloat
    }

    /// All elements as one value; nil if they are stored separately.
    var rows: Graph.Value? { if case .rows(let rows) = elements { rows } else { nil } }

    /// The index of the loop variable that this list is; nil for other lists.
    var variable: Int? { if case .outside(let variable, _) = elements { variable } else { nil } }

    /// The element that the round wrote to its loop variable; nil if it wrote nothing.
    var write: Write? { if case .outside(_, let write) = elements { write } else { nil } }

    func check(_ index: Int) throws(Problem) {
        guard index >= 0, index < count else {
            throw Problem("index \(index) is out of range: the list has \(count) elements")
        }
    }

    func read(_ index: Int, _ program: ProgramContext) throws(Problem) -> ProgramOperand {
        try check(index)
        switch elements {
        case .rows(let rows):
            let graph = program.builder
            return .value(try graph.gather(rows, graph.scalar(index), axis: 0))
        case .single(let list):
            if let element = list[index] { return element }
            guard let shape, let count = elementCount(shape), count <= 1 << 24 else {
                throw Problem("element \(index) of the list was never written")
            }
            let type: MILDataType = isFloat ? .float32 : .int32
            try program.spend(count * 4)
            return .constant(
                ProgramConstant(try BlobTensor(type, shape: shape, bytes: Bytes(count: count * 4) { _ in })))
        case .outside: throw Problem("the loop reads a list that it writes")
        }
    }

    /// Writes an element. The list grows as needed.
    mutating func write(_ element: ProgramOperand, at index: Int, _ program: ProgramContext) throws(Problem) {
        guard index >= 0, index < Self.maximumLength else {
            throw Problem("index \(index) is out of range", at: "index")
        }
        var list: [ProgramOperand?]
        switch elements {
        case .single(let elements): list = elements
        case .rows(let rows):
            let value = try program.builder.unsqueeze(program.value(of: element), [0])
            if let all = try program.builder.list(rows, count: count, value, at: [index]) {
                elements = .rows(all)
                return
            }
            list = []
            for place in 0..<count {
                try program.count(1)
                list.append(try read(place, program))
            }
        case .outside: throw Problem("the loop writes a list in more than one place")
        }
        while list.count <= index { list.append(nil) }
        list[index] = element
        count = list.count
        elements = .single(list)
    }

    /// The list with all elements replaced.
    func filled(_ rows: Graph.Value) throws(Problem) -> TensorList {
        guard let count = rows.shape[0], count <= Self.maximumLength else {
            throw Problem("unsupported list of \(shapeText(rows.shape))")
        }
        var list = self
        if case .outside = elements { throw Problem("the loop replaces a list") }
        (list.elements, list.count) = (.rows(rows), count)
        return list
    }

    /// The list with one element written.
    func written(_ value: ProgramOperand, at index: ProgramOperand, _ call: ProgramCall) throws(Problem) -> TensorList {
        var list = self
        if case .outside(let variable, nil) = elements {
            let write = Write(value: try call.program.value(of: value), index: index)
            list.elements = .outside(variable: variable, write)
        } else {
            try list.write(value, at: call.integer("index"), call.program)
        }
        return list
    }

    // MARK: Loops

    /// The list as a loop variable that the body writes.
    func asVariable(_ index: Int) -> TensorList {
        var list = self
        list.elements = .outside(variable: index, nil)
        return list
    }

    /// The list as the body of a loop reads it. `input` adds an input to the body.
    func inLoop(_ input: (Graph.Value) -> Graph.Value) throws(Problem) -> TensorList {
        var list = self
        guard let rows else { throw Problem("the loop reads a list that was written one by one") }
        list.elements = .rows(input(rows))
        return list
    }

    /// The list after a loop that wrote `rows`, one in each round, at `places`.
    func written(_ rows: Graph.Value, at places: [Int], _ program: ProgramContext) throws(Problem) -> TensorList {
        guard let last = places.max(), places.allSatisfy({ $0 >= 0 }), last < Self.maximumLength else {
            throw Problem("the loop writes outside of the list")
        }
        var list = self
        let total = max(count, last + 1)
        if let all = try program.builder.list(total == count ? self.rows : nil, count: total, rows, at: places) {
            (list.elements, list.count) = (.rows(all), total)
            return list
        }
        for (round, place) in places.enumerated() {
            try program.count(1)
            let element = try program.builder.gather(rows, program.builder.scalar(round), axis: 0)
            try list.write(.value(element), at: place, program)
        }
        return list
    }
}
