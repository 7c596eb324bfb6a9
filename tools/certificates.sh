#!/bin/sh
# Makes the certificates of 802.1X in lab linux: python/airtoll/labs/certificates. The files are part of the repository,
# so that the same seed gives the same frames; this script records how they were made. Their keys are public on purpose.
#
# One CA signs the certificates of the server and of the stations. All keys are on P-384, as the 192-bit mode of
# WPA3-Enterprise requires. A guest boots on 2026-01-01 of its own clock, so the certificates are valid long before and
# after.
set -eu

folder="$(dirname "$0")/../python/airtoll/labs/certificates"
work="$(mktemp -d)"
trap 'rm -r "$work"' EXIT
mkdir -p "$work/issued"
: > "$work/index.txt"
cat > "$work/ca.cnf" <<END
[ca]
default_ca = authority
[authority]
database = $work/index.txt
new_certs_dir = $work/issued
rand_serial = yes
default_md = sha384
policy = any
[any]
commonName = supplied
[req]
distinguished_name = name
prompt = no
[name]
[authority_extensions]
basicConstraints = critical, CA:TRUE, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server_extensions]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:radius.airtoll.example
[client_extensions]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth
END

# issue NAME SUBJECT OPTION...: a key, and its certificate for a hundred years
issue() {
    name="$1" subject="$2"
    shift 2
    openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out "$work/$name.key"
    openssl req -new -config "$work/ca.cnf" -key "$work/$name.key" -subj "$subject" -out "$work/$name.csr"
    openssl ca -batch -notext -config "$work/ca.cnf" -in "$work/$name.csr" -out "$work/$name.crt" \
        -startdate 20250101000000Z -enddate 21250101000000Z -extensions "${name}_extensions" "$@" 2> /dev/null
}
issue authority "/CN=airtoll test CA" -selfsign -keyfile "$work/authority.key"
for name in server client; do
    subject=/CN=radius.airtoll.example
    [ $name = server ] || subject=/CN=station@airtoll.example
    issue $name "$subject" -cert "$work/authority.crt" -keyfile "$work/authority.key"
done

cp "$work/authority.crt" "$folder/ca.pem"
for name in server client; do
    cat "$work/$name.crt" "$work/$name.key" > "$folder/$name.pem"
done
