/// The NUMA nodes of the processors available to this process. Memory is close to the processors of its node and remote
/// for all others.
///
/// OpenVINO reads the same files to place its streams. They are read here to request streams that fit.
public struct ProcessorTopology: Sendable, Hashable {
    /// A node with processors available to this process.
    public struct Node: Sendable, Hashable {
        /// The number of the node in the kernel.
        public let number: Int
        /// The available processors of the node, in the kernel's format: `0-31,64-95`.
        public let processors: String
        /// The number of their cores: processors that share a core (SMT) count once.
        public let cores: Int
    }

    /// The nodes, if there are several; empty on one node, and if the files are invalid.
    public let nodes: [Node]
    /// The reason why a machine with several nodes is treated as one; nil if it is not.
    public let problem: String?

    init(_ files: HostFiles, _ groups: ControlGroups) {
        do throws(Mistake) {
            nodes = try Self.nodes(files, groups)
            problem = nil
        } catch {
            nodes = []
            problem = error.text
        }
    }

    /// The number of cores of the largest node; nil on one node.
    var largestNode: Int? { nodes.map(\.cores).max() }

    /// The number of threads of a prediction that fit into the node where the engine begins, whichever it is; nil on
    /// one node. Nodes with less than half of the cores of the largest one are ignored.
    var threadsOfOne: Int? {
        largestNode.flatMap { largest in nodes.map(\.cores).filter { $0 * 2 >= largest }.min() }
    }

    /// A sentence about the topology, without a full stop; nil on one node.
    public var summary: String? {
        if let problem { return "taken for one: \(problem)" }
        let texts = nodes.map { "node \($0.number) has \(plural($0.cores, "core")) (\($0.processors))" }
        return texts.isEmpty ? nil : texts.joined(separator: ", ")
    }

    // MARK: Reading

    private struct Mistake: Error {
        let text: String
    }

    private static let folder = "/sys/devices/system/node"
    /// The kernel's maximum.
    private static let maximumNodes = 1024

    private static func nodes(_ files: HostFiles, _ groups: ControlGroups) throws(Mistake) -> [Node] {
        // A kernel without NUMA has no such file, and a container may hide it.
        guard let list = files.text(folder + "/online") else { return [] }
        guard let numbers = CPUList.ranges(list), CPUList.count(numbers) <= maximumNodes else {
            throw Mistake(text: "\(folder)/online is not a list of nodes: \"\(list.trimmedASCII.prefix(40))\"")
        }
        guard CPUList.count(numbers) > 1 else { return [] }
        guard let usable = HostResources.usableProcessors(files, groups) else {
            throw Mistake(text: "it is unknown which processors this process may use")
        }
        var rest = Set(usable.joined())
        var nodes: [Node] = []
        for number in numbers.joined() {
            let path = "\(folder)/node\(number)/cpulist"
            guard let text = files.text(path) else { throw Mistake(text: "\(path) cannot be read") }
            // Some nodes have only memory (CXL).
            if text.trimmedASCII.isEmpty { continue }
            guard let all = CPUList.ranges(text) else {
                throw Mistake(text: "\(path) is not a list of processors: \"\(text.trimmedASCII.prefix(40))\"")
            }
            let own = CPUList.common(all, usable)
            let processors = Set(own.joined())
            guard processors.isSubset(of: rest) else {
                throw Mistake(text: "\(path) has processors of another node")
            }
            rest.subtract(processors)
            guard !processors.isEmpty else { continue }
            nodes.append(
                Node(number: number, processors: CPUList.text(own), cores: cores(of: processors, files)))
        }
        if let lost = rest.min() { throw Mistake(text: "processor \(lost) is in no node") }
        return nodes.count > 1 ? nodes : []
    }

    /// A core is counted by the first of its processors in the set. A processor with an invalid file counts as a core.
    private static func cores(of processors: Set<Int>, _ files: HostFiles) -> Int {
        processors.count { processor in
            let text = files.text("/sys/devices/system/cpu/cpu\(processor)/topology/thread_siblings_list") ?? ""
            let siblings = CPUList.ranges(text) ?? []
            guard siblings.contains(where: { $0.contains(processor) }) else { return true }
            return siblings.joined().first { processors.contains($0) } == processor
        }
    }
}
