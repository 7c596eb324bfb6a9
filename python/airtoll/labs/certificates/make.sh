#!/bin/sh
# make.sh FOLDER FROM UNTIL: makes a CA, and certificates of a server and of the stations, for 802.1X. The times are those
# of openssl-ca(1). All keys are on P-384, as the 192-bit mode of WPA3-Enterprise requires. The key of the CA is not kept.
set -eu

folder="$1" from="$2" until="$3"
umask 077
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

# issue NAME SUBJECT OPTION...: a key, and its certificate
issue() {
    name="$1" subject="$2"
    shift 2
    openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out "$work/$name.key"
    openssl req -new -config "$work/ca.cnf" -key "$work/$name.key" -subj "$subject" -out "$work/$name.csr"
    openssl ca -batch -notext -config "$work/ca.cnf" -in "$work/$name.csr" -out "$work/$name.crt" \
        -startdate "$from" -enddate "$until" -extensions "${name}_extensions" "$@" 2> /dev/null
}
issue authority "/CN=airtoll CA" -selfsign -keyfile "$work/authority.key"
for name in server client; do
    subject=/CN=radius.airtoll.example
    [ $name = server ] || subject=/CN=station@airtoll.example
    issue $name "$subject" -cert "$work/authority.crt" -keyfile "$work/authority.key"
done

cp "$work/authority.crt" "$folder/ca.pem"
for name in server client; do
    cat "$work/$name.crt" "$work/$name.key" > "$folder/$name.pem"
done
