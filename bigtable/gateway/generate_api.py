"""Write the C side of the public API's .proto files.

    generate_api.py DESCRIPTORS.pb OUT_DIR

DESCRIPTORS.pb is what `protoc --descriptor_set_out` made of protos/. Two files
are written to OUT_DIR:

api_fields.h     a constant for the number of each field (PB_Cluster_location)
                 and of each value of an enum (PB_Backup_State_READY), so that
                 no number of the API is written by hand, and the declarations
                 of the tables below
api_messages.c   descriptors_all(): the descriptors themselves, for reflection;
                 and a table of fields for each message of the admin API, whose
                 settings are checked field by field (message_fields.h)

A nested message is known by its own name (PB_SetCell_value), and where its
package has several of that name by its parent's too (PB_Struct_Encoding_...).
"""

import os
import sys

# Numbers of google/protobuf/descriptor.proto.
FILE_PACKAGE, FILE_MESSAGE, FILE_ENUM = 2, 4, 5
MESSAGE_FIELD, MESSAGE_MESSAGE, MESSAGE_ENUM = 2, 3, 4
FIELD_NUMBER, FIELD_LABEL, FIELD_TYPE, FIELD_ONEOF = 3, 4, 5, 9
NAME = 1
ENUM_VALUE = VALUE_NUMBER = 2
LABEL_REPEATED = 3

# FieldDescriptorProto.Type by how a field of it travels; others are varints.
WIRES = {1: "PB_FIXED64", 6: "PB_FIXED64", 16: "PB_FIXED64",
         2: "PB_FIXED32", 7: "PB_FIXED32", 15: "PB_FIXED32",
         9: "PB_BYTES", 11: "PB_BYTES", 12: "PB_BYTES"}
ADMIN = "google.bigtable.admin.v2"


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields_of(data):
    """The fields of a message: {number: [values]}."""
    fields, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        elif tag & 7 != 0:
            sys.exit("generate_api.py: a field that no descriptor has")
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def nested_names(message):
    for nested in map(fields_of, message.get(MESSAGE_MESSAGE, [])):
        yield nested[NAME][0].decode()
        yield from nested_names(nested)


class Api:
    def __init__(self):
        self.nested = {}     # How many nested messages of the package: a name.
        self.constants = {}  # "Cluster_name": its number.
        self.tables = {}     # "Cluster": its fields, as they are declared.

    def constant(self, name, number):
        if self.constants.setdefault(name, number) != number:
            sys.exit("generate_api.py: PB_%s is both %d and %d" %
                     (name, self.constants[name], number))

    def enum(self, prefix, data):
        enum = fields_of(data)
        prefix += enum[NAME][0].decode() + "_"
        for value in map(fields_of, enum[ENUM_VALUE]):
            self.constant(prefix + value[NAME][0].decode(),
                          value.get(VALUE_NUMBER, [0])[0])

    def message(self, package, data, parent=None):
        message = fields_of(data)
        own_name = message[NAME][0].decode()
        name = own_name
        if parent and self.nested[package, own_name] > 1:
            name = parent + "_" + own_name
        table = []
        for field in map(fields_of, message.get(MESSAGE_FIELD, [])):
            wire = WIRES.get(field[FIELD_TYPE][0], "PB_VARINT")
            if field[FIELD_LABEL][0] == LABEL_REPEATED:
                wire = "PB_BYTES"  # Scalars are packed.
            table.append((field[NAME][0].decode(), field[FIELD_NUMBER][0],
                          wire, field.get(FIELD_ONEOF, [-1])[0] + 1))
            self.constant(name + "_" + table[-1][0], table[-1][1])
        if package == ADMIN:
            self.tables[name] = table
        for enum in message.get(MESSAGE_ENUM, []):
            self.enum(name + "_", enum)
        for nested in message.get(MESSAGE_MESSAGE, []):
            self.message(package, nested, own_name)

    def add_file(self, data):
        file = fields_of(data)
        package = file[FILE_PACKAGE][0].decode()
        for enum in file.get(FILE_ENUM, []):
            self.enum("", enum)
        for message in map(fields_of, file.get(FILE_MESSAGE, [])):
            for name in nested_names(message):
                key = package, name
                self.nested[key] = self.nested.get(key, 0) + 1
        for message in file.get(FILE_MESSAGE, []):
            self.message(package, message)


def write_header(api, out):
    out.write("/* Made by generate_api.py from protos/. */\n"
              "#ifndef BIGTABLE_GATEWAY_API_FIELDS_H\n"
              "#define BIGTABLE_GATEWAY_API_FIELDS_H\n\n"
              '#include "base/core/pb.h"\n\nenum {\n')
    for name, number in sorted(api.constants.items()):
        out.write("    PB_%s = %d,\n" % (name, number))
    out.write("};\n\n")
    for name in sorted(api.tables):
        out.write("extern const struct pb_message pb_%s;\n" % name)
    out.write("\n#endif\n")


def write_source(api, descriptors, out):
    out.write("/* Made by generate_api.py from protos/. */\n"
              '#include "bigtable/gateway/api_fields.h"\n'
              '#include "bigtable/gateway/api_descriptors.h"\n\n')
    for name, table in sorted(api.tables.items()):
        if table:
            out.write("static const struct pb_message_field fields_%s[] = {\n" %
                      name)
            out.writelines('    {"%s", %d, %s, %d},\n' % f for f in table)
            out.write("};\n")
        out.write('const struct pb_message pb_%s = {"%s", %s, %d};\n\n' %
                  (name, name, "fields_" + name if table else "NULL",
                   len(table)))
    out.write("static const unsigned char bytes[] = {\n")
    for at in range(0, len(descriptors), 16):
        out.write("".join("%d," % b for b in descriptors[at:at + 16]) + "\n")
    out.write("};\n\nstruct slice descriptors_all(void)\n{\n"
              "    return slice_make((const char *)bytes, sizeof(bytes));\n}\n")


def main():
    with open(sys.argv[1], "rb") as file:
        descriptors = file.read()
    api = Api()
    for data in fields_of(descriptors)[1]:
        api.add_file(data)
    with open(os.path.join(sys.argv[2], "api_fields.h"), "w") as out:
        write_header(api, out)
    with open(os.path.join(sys.argv[2], "api_messages.c"), "w") as out:
        write_source(api, descriptors, out)


main()
